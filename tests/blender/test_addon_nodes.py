"""Each node alone against Cycles, whose values are stored (make_node_reference.py renders them anew). All nodes of a kind
share one picture. With SORT_WRITE_DIFFERENCES=8, and then of eight times the samples, the differences go to
node_differences_VERSION.json, of which scripts/blender-node-table makes a page."""

import json
import os
import pathlib
import unittest

import numpy as np

import blender_scene as kit
import node_cases  # noqa: F401 - fills the tiles
import node_pictures
import node_surfaces  # noqa: F401
import node_tiles

HERE = pathlib.Path(__file__).parent
REFERENCE = json.loads((HERE / f"node_reference_{node_tiles.VERSION}.json").read_text())
DIFFERENCES = {}
MEASURED_BY = int(os.environ.get("SORT_WRITE_DIFFERENCES", "0"))  # times the usual samples


def warnings():
    """But for what the renderer says of scenes whose only light depends on the view, and the add-on of skies."""
    return [text for text in kit.messages().warnings if "no light" not in text and "those of Single Scattering" not in text]


class NodeTest(unittest.TestCase):
    def compare(self, scene_name):
        """Mean difference over the mean, of at least 0.1."""
        cases, build = node_tiles.SCENES[scene_name]
        columns, rows = build()
        if MEASURED_BY:
            kit.bpy.context.scene.sort.samples *= MEASURED_BY
        picture = kit.render()
        self.assertEqual(kit.messages().error, "")
        for number, case in enumerate(cases):
            key = f"{scene_name}: {case.name}"
            self.check(key, case, node_tiles.measure(picture, number, columns, rows))

    def check(self, key, case, cells):
        with self.subTest(case.name):
            theirs, ours = np.array(REFERENCE[key]), cells.ravel()
            difference = np.abs(ours - theirs).mean() / max(np.abs(theirs).mean(), 0.1)
            DIFFERENCES[key] = {"node": case.node, "difference": round(float(difference), 4),
                                "tolerance": case.tolerance}
            if difference >= case.tolerance:
                print(f"NODE {key}: {100 * difference:.2f} %\n  {ours.round(4).tolist()}\n  {theirs.tolist()}")
            self.assertLess(difference, case.tolerance)
            self.assertGreater(np.abs(theirs).max(), 0.01, "black tests nothing")

    def test_values(self):
        self.compare("values")
        self.assertEqual(warnings(), [])

    def test_surfaces(self):
        self.compare("surfaces")

    @unittest.skipUnless(node_tiles.FIBRES, "no fibres of this version have a picture of their own")
    def test_fibres(self):
        self.compare("fibres")
        self.assertEqual(warnings(), [])

    def test_worlds_and_lights(self):
        for case in node_pictures.PICTURES:
            case.build()
            self.check(f"pictures: {case.name}", case, node_pictures.measure_all(kit.render()))
            self.assertEqual(warnings(), [], case.name)

    @classmethod
    def tearDownClass(cls):
        if MEASURED_BY:
            lines = ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in DIFFERENCES.items())
            (HERE / f"node_differences_{node_tiles.VERSION}.json").write_text("{\n" + lines + "\n}\n")


kit.main()
