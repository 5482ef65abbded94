"""A shader as a function of PyTorch: gradients pass through it like through any other.

    from ssl_torch import shader_function
    brick = sort_ssl.compile_file("brick.ssl", globals={"uv": "float2"})
    height = shader_function(brick, "height")
    loss = (height(uv=points, width=width) - target).square().mean()     # width is a torch tensor that requires_grad
    loss.backward()                                                      # width.grad

Shaders run on the CPU in single precision; tensors that lie elsewhere are copied there and back.
"""

import torch


class _ShaderFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, shader, output, names, *tensors):
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in zip(names, tensors)}
        ctx.shader, ctx.output, ctx.names = shader, output, names
        ctx.save_for_backward(*tensors)
        value = shader.evaluate(arrays, outputs=[output])[output]
        return torch.as_tensor(value).to(tensors[0].device)

    @staticmethod
    def backward(ctx, adjoint):
        tensors = ctx.saved_tensors
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in zip(ctx.names, tensors)}
        wanted = [name for name, is_needed in zip(ctx.names, ctx.needs_input_grad[3:]) if is_needed]
        gradients = ctx.shader.vjp(arrays, {ctx.output: adjoint.detach().cpu().numpy()}, by=wanted)
        return (None, None, None, *(torch.as_tensor(gradients[name]).to(tensor) if name in gradients else None
                                    for name, tensor in zip(ctx.names, tensors)))


def shader_function(shader, output):
    """An output of a sort_ssl.Shader as a function of tensors, given by the names of the shader's inputs."""

    def function(**inputs):
        names = tuple(inputs)
        return _ShaderFunction.apply(shader, output, names, *(torch.as_tensor(inputs[name]) for name in names))

    return function
