"""As much of PyTorch's interface as docs/examples/ssl_torch.py needs, so that it is run where PyTorch is not installed: tensors over
NumPy arrays, and custom functions with the protocol of torch.autograd.Function."""

import types

import numpy as np


class Tensor:
    device = "cpu"

    def __init__(self, array, requires_grad=False):
        self.array, self.requires_grad, self.grad = np.array(array), requires_grad, None
        self.node = None  # (function, context, inputs) that made it

    def detach(self):
        return Tensor(self.array)

    def cpu(self):
        return self

    def numpy(self):
        return self.array

    def to(self, like):
        return Tensor(self.array.astype(like.array.dtype)) if isinstance(like, Tensor) else self

    def backward(self, adjoint):
        if self.node is None:
            if self.requires_grad:
                self.grad = adjoint if self.grad is None else Tensor(self.grad.array + adjoint.array)
            return
        function, ctx, inputs = self.node
        gradients = function.backward(ctx, adjoint)
        assert len(gradients) == len(inputs), "backward gives one gradient for each argument of forward"
        for given, gradient in zip(inputs, gradients):
            if isinstance(given, Tensor) and gradient is not None:
                assert gradient.array.shape == given.array.shape, "a gradient has the shape of its tensor"
                given.backward(gradient)


class _Context:
    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors


class Function:
    @classmethod
    def apply(cls, *inputs):
        ctx = _Context()
        ctx.needs_input_grad = tuple(isinstance(x, Tensor) and (x.requires_grad or x.node is not None) for x in inputs)
        result = cls.forward(ctx, *inputs)
        if any(ctx.needs_input_grad):
            result.node = (cls, ctx, inputs)
        return result


def as_tensor(value):
    return value if isinstance(value, Tensor) else Tensor(value)


def tensor(value, requires_grad=False):
    return Tensor(np.array(value, dtype=np.float32), requires_grad)


autograd = types.SimpleNamespace(Function=Function)
