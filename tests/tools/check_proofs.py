"""sslc check proves closures: check_proofs.py FOLDER_OF_PROGRAMS

Each closure but the first two is wrong in one way, which is found, named, and told where."""

from tool_kit import expect, run, run_checks

COSINE = "sample { wi = bsdf_cosine_hemisphere(u.xy); }"
ALBEDO = "albedo = color(a);"
LAMBERT = "f_cos = color(a * M_1_PI * wi.z);"
CASES = (
    (f"reflection reciprocal {{ {ALBEDO} eval {{ {LAMBERT} pdf = bsdf_cosine_pdf(wi.z); }} {COSINE} }}", None),
    (f"reflection {{ eval {{ {LAMBERT} }} }}", None),  # sampled by default
    (f"reflection {{ {ALBEDO} eval {{ {LAMBERT} pdf = 0.95 * bsdf_cosine_pdf(wi.z); }} {COSINE} }}", "density: sample does not follow pdf"),
    (f"reflection {{ {ALBEDO} eval {{ {LAMBERT} pdf = 1.05 * bsdf_cosine_pdf(wi.z); }} {COSINE} }}", "integral: pdf integrates to 1.0500"),
    (f"reflection {{ {ALBEDO} eval {{ {LAMBERT} pdf = 0.5 * M_1_PI; }} {COSINE} }}", "density: sample does not follow pdf"),
    (f"reflection {{ albedo = color(1); eval {{ f_cos = color(1.05 * M_1_PI * wi.z); pdf = bsdf_cosine_pdf(wi.z); }} {COSINE} }}",
     "energy: 1.0500 +- 0.0000 of the light comes back"),
    (f"reflection {{ {ALBEDO} eval {{ f_cos = color(a / max(wo.z - 0.1, 0.0)); }} }}", "finite: "),
    (f"reflection {{ {ALBEDO} eval {{ while (f_cos.x < 1) f_cos *= a; }} }}", "finite: eval of lobe 1 is stopped: a loop of more than 65536 rounds"),
    (f"reflection {{ {ALBEDO} eval {{ f_cos = color(0.5 - a) * wi.z; }} }}", "f_cos is negative"),
    (f"reflection {{ {ALBEDO} eval {{ {LAMBERT} pdf = 1; }} sample {{ wi = vector(2, 0, 1); }} }}", "finite: sample sets a wi that is no direction"),
    ("reflection reciprocal { albedo = color(0.1); eval { f_cos = color(0.1 * max(wo.z, 0.0) * wi.z); } }", "reciprocal: the value is"),
    ("reflection { albedo = color(0.5); eval { f_cos = color(0.6 * M_1_PI * wi.z); } }",
     "albedo: the lobes tell an albedo of 0.5000, and 0.6000 +- 0.0000"),
)


def check_findings(folder):
    file = folder / "proved.ssl"
    for lobe, finding in CASES:
        file.write_text("bsdf A(float a [[ float min = 0.1, float max = 0.9 ]], normal N) "
                        f"[[ float albedo_error = 0.01 ]] {{ lobe diffuse {lobe} }}\n")
        done = run("sslc", "check", file, folder=folder)
        said = done.stdout + done.stderr
        expect(done.returncode == (1 if finding else 0), f"{lobe}: exit code {done.returncode}: {said}")
        for part in (finding, "proved.ssl: bsdf 'A' is not proved: ", "\n  at a = ") if finding else ():
            expect(part in said, f"{lobe}: no '{part}' in {said}")
        expect(run("sslc", "check", "--proofs", "none", file, folder=folder).returncode == 0, f"{lobe}: without proofs")


run_checks(check_findings)
