"""sort-farm: one picture, or many, rendered by many machines to the bits of one.

A farm is a folder that all machines see. `plan` writes its manifest: frames x cameras (shots), their sample ranges (parts),
and how parts are added up (sums) to pictures. What a machine is asked for is a task of that manifest, `sort-farm run
FARM TASK`, by whatever engine: Slurm, Open Job Description, a shell. A task whose result is there and whole ends at once,
so any task may be started any number of times, by several machines at a time.

    manifest   what is to be made           work      makes a task's result, and what it needs
    tasks      parts, sums, pictures        local, slurm, openjd, texts   engines that start tasks
    cost       what samples take            status    what is there, who works, what failed
"""

__version__ = "0.1.0"
