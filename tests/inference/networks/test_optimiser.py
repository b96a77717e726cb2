import numpy as np
import pytest

from sumwise.inference.networks.optimiser import adamw, rate_at, restore, state_arrays

torch = pytest.importorskip("torch", reason="networks need torch: pip install 'sumwise[torch]'")


def fresh():
    generator = torch.Generator().manual_seed(0)
    return {n: torch.randn(s, generator=generator).requires_grad_() for n, s in (("w", (3, 2)), ("b", (2,)))}


def step(params, optimiser, k):
    optimiser.zero_grad()
    sum(((p - k) ** 2).sum() for p in params.values()).backward()
    optimiser.step()


def test_restored_moments_give_the_same_steps_to_the_last_bit():
    whole = fresh()
    optimiser = adamw(whole.values(), 0.1, 0.01)
    for k in range(3):
        step(whole, optimiser, k)
    middle = {n: p.detach().clone().requires_grad_() for n, p in whole.items()}
    kept = state_arrays(optimiser, whole)
    other = adamw(middle.values(), 0.1, 0.01)
    restore(other, middle, kept)
    for k in range(3, 6):
        step(whole, optimiser, k)
        step(middle, other, k)
    for name, p in whole.items():
        assert torch.equal(p, middle[name])


def test_no_moments_before_the_first_step():
    params = fresh()
    assert state_arrays(adamw(params.values(), 0.1, 0.0), params) == {}


def test_only_matrices_are_decayed():
    params = fresh()
    start = {n: p.detach().clone() for n, p in params.items()}
    optimiser = adamw(params.values(), 0.1, 0.5)
    for p in params.values():
        p.grad = torch.zeros_like(p)
    optimiser.step()
    np.testing.assert_allclose(params["w"].detach(), start["w"] * (1 - 0.1 * 0.5), rtol=1e-6)
    assert torch.equal(params["b"], start["b"])


def test_cosine_rises_then_falls_to_zero():
    rates = [rate_at("cosine", s) for s in np.linspace(0, 1, 101)]
    assert rates[0] == pytest.approx(0.1)
    assert max(rates) == pytest.approx(1.0)
    assert rates[-1] == 0.0
    assert np.all(np.diff(rates[6:]) < 0)


def test_fused_steps_are_those_of_plain_adamw():
    fused, plain = fresh(), fresh()
    ours = adamw(fused.values(), 0.1, 0.01)
    groups = [{"params": [plain["w"]], "weight_decay": 0.01}, {"params": [plain["b"]], "weight_decay": 0.0}]
    theirs = torch.optim.AdamW(groups, lr=0.1, foreach=False)
    for k in range(20):
        step(fused, ours, k)
        step(plain, theirs, k)
    for name in fused:
        np.testing.assert_allclose(fused[name].detach(), plain[name].detach(), rtol=1e-5)
