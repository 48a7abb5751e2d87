"""toml_blocks.py <source tree> <program>: every configuration in the documentation is one that the program accepts."""

import glob
import os
import re
import subprocess
import sys
import tempfile

root, program = sys.argv[1:3]
blocks = []
for path in sorted(glob.glob(os.path.join(root, "**", "*.md"), recursive=True)):
    if os.sep + "build" + os.sep in path:
        continue
    with open(path, encoding="utf-8") as file:
        for block in re.findall(r"^```toml\n(.*?)^```", file.read(), flags=re.DOTALL | re.MULTILINE):
            blocks.append((os.path.relpath(path, root), block))

failed = 0
for path, block in blocks:
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("POSTROOM_")}
        for name in re.findall(r"\$\{env:(\w+)\}", block):
            environment[name] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" if "SIGNING" in name else "x"
        # Files that a reader has and this machine has not.
        named = re.findall(r"\$\{file:([^}]*)\}", block) + re.findall(r'"(/etc/postroom/[^"]*\.pem)"', block)
        for number, name in enumerate(named):
            stand_in = os.path.join(folder, f"file{number}")
            with open(stand_in, "w", encoding="utf-8") as file:
                file.write("postgresql://app@db/shop")
            block = block.replace(name, stand_in)
        with open(os.path.join(folder, "postroom.toml"), "w", encoding="utf-8") as file:
            file.write(block)
        ran = subprocess.run([program, "config", "check"], env=environment, cwd=folder, capture_output=True, text=True)
        if ran.returncode != 0:
            failed += 1
            print(f"{path}: {ran.stderr}{block}", file=sys.stderr)
print(f"{len(blocks)} configurations, {failed} refused")
sys.exit(1 if failed or not blocks else 0)
