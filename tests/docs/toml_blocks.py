"""toml_blocks.py <source tree> <program>: every configuration in the documentation is one that the program accepts."""

import os
import re
import subprocess
import sys
import tempfile

from pages import blocks, clean_environment

root, program = sys.argv[1:3]
configurations = [(str(block), block.text) for block in blocks(root) if block.language == "toml"]

failed = 0
for path, block in configurations:
    with tempfile.TemporaryDirectory() as folder:
        environment = clean_environment()
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
print(f"{len(configurations)} configurations, {failed} refused")
sys.exit(1 if failed or not configurations else 0)
