import math, unittest, bpy
from bpy_extras.object_utils import world_to_camera_view
import blender_scene as kit
from test_addon_camera import MARKS, centre_of_light
class T(unittest.TestCase):
    def test(self):
        scene = kit.empty_scene(samples=64)
        cam = kit.add_camera((1.5, -5, 2), (math.radians(70), math.radians(8), math.radians(16)))
        r = scene.render
        for (ax, ay, w, h, sy) in ((1,1,120,80,0),(1,2,120,80,0),(1,2,120,80,0.1),(2,1,80,90,0.1),(1,1.5,120,80,0)):
            r.pixel_aspect_x, r.pixel_aspect_y, r.resolution_x, r.resolution_y = ax, ay, w, h
            cam.data.shift_y = sy
            plane = kit.add_plane(size=0.06); plane.rotation_euler = cam.rotation_euler
            kit.material_of(plane, "ShaderNodeEmission")
            for m in MARKS:
                plane.location = m
                bpy.context.view_layer.update()
                s = world_to_camera_view(scene, cam, plane.location)
                x, y = centre_of_light(kit.render()); cx, cy = centre_of_light(kit.render("CYCLES"))
                print("DBG", ax, ay, w, h, sy, m, "seen", round(s.x*w,2), round(s.y*h,2), "sort", round(x,2), round(y,2), "cycles", round(cx,2), round(cy,2))
            bpy.data.objects.remove(plane)


kit.main()
