"""container_files.py <packaging> <program>: the compose file and the Helm chart are well-formed, refer to what is there,
and hold configurations that the program accepts; every variable that a file of the packages names means something to the program.
Neither Docker nor Helm is needed, and neither is run: the chart's templates are filled in by the few rules of Go templates that they
use."""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import urllib.parse

import jsonschema
import yaml

packaging, program = sys.argv[1:3]
chart = os.path.join(packaging, "helm", "postroom")


def read(*parts):
    with open(os.path.join(packaging, *parts), encoding="utf-8") as file:
        return file.read()


def check_config(text, **environment):
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        clean = {name: value for name, value in os.environ.items() if not name.startswith("POSTROOM_")}
        ran = subprocess.run([program, "config", "check", "--config", file.name], env=dict(clean, **environment), capture_output=True, text=True)
        assert ran.returncode == 0 and ran.stderr == "", (text, environment, ran)


def check_compose():
    compose = yaml.safe_load(read("container", "compose.yaml"))
    services = compose["services"]
    for name, service in services.items():
        assert set(service) <= {"image", "build", "command", "environment", "healthcheck", "volumes", "depends_on", "read_only",
                                "cap_drop", "security_opt", "restart"}, name
        assert ("image" in service) != ("build" in service), name
        for other, how in service.get("depends_on", {}).items():
            assert other in services, f"{name} waits for {other}, which is not there"
            if how["condition"] == "service_healthy":
                assert "healthcheck" in services[other], f"{other} has no health check"
        for volume in service.get("volumes", []):
            assert os.path.exists(os.path.join(packaging, "container", volume.split(":")[0])), volume
        if "build" in service:
            context = os.path.join(packaging, "container", service["build"]["context"])
            assert os.path.exists(os.path.join(context, service["build"]["dockerfile"]))
    check_config(read("container", "postroom.toml"), POSTROOM_URL=services["relay"]["environment"]["POSTROOM_URL"])
    check_broker(services["broker"])


def check_broker(service):
    """It knows the relay's user, and has a queue for what the relay publishes, which it would return otherwise."""
    sink = tomllib.loads(read("container", "postroom.toml"))["sinks"]["broker"]
    inside = {parts[1]: parts[0] for parts in (volume.split(":") for volume in service["volumes"])}
    [settings] = [path for path in inside if path.startswith("/etc/rabbitmq/conf.d/") and path.endswith(".conf")]
    [named] = re.findall(r"^load_definitions = (\S+)$", read("container", inside[settings]), re.MULTILINE)
    definitions = json.loads(read("container", inside[named]))
    address = urllib.parse.urlsplit(sink["url"])
    assert (address.username, address.password) in [(user["name"], user["password"]) for user in definitions["users"]], sink
    assert address.username in [permission["user"] for permission in definitions["permissions"]], sink
    taken = [binding["destination"] for binding in definitions["bindings"] if (binding["source"], binding["routing_key"]) == (sink["exchange"], "#")]
    assert taken and set(taken) <= {queue["name"] for queue in definitions["queues"]}, definitions


def check_variables():
    """Each name that stands in a file of the packages, in comments too, is one that the program knows."""
    with_hook = '[sinks.hook]\ntype = "http"\nurl = "https://example.com/hooks"\n'
    values = {"POSTROOM_URL": "sqlite:shop.db", "POSTROOM_SINKS__HOOK__SIGNING_KEYS": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
    named = set()
    for folder, _, files in os.walk(packaging):
        for name in files:
            named.update(re.findall(r"\bPOSTROOM_\w+", read(os.path.relpath(folder, packaging), name)))
    assert {"POSTROOM_URL", "POSTROOM_CONFIG"} <= named, named
    for name in sorted(named - {"POSTROOM_CONFIG"}):
        check_config(with_hook, **{name: values.get(name, "1")})


def check_probe(command):
    """It asks the relay and not a database: one that is away must not have every relay killed. Nobody answers here."""
    assert command[:2] == ["/usr/bin/postroom", "healthcheck"], command
    ran = subprocess.run([program, *command[1:], "http://127.0.0.1:9"], capture_output=True, text=True)
    assert ran.returncode == 3, (command, ran)


def check_dockerfile():
    [check] = re.findall(r"^HEALTHCHECK .*CMD (\[.*\])$", read("container", "Dockerfile"), re.MULTILINE)
    check_probe(json.loads(check))


def indented(text, spaces):
    return "\n".join(" " * spaces + line for line in text.splitlines())


def render(text, values, defined):
    """Fills in the templates: values, includes, one condition, and the functions that they use."""
    def value_of(path):
        found = {"Release": {"Name": "demo"}, "Values": values}
        for part in path.lstrip(".").split("."):
            found = found[part]
        return found

    def replace(match):
        words = match.group(1).split(" | ")
        head = words[0].split()
        if head[0] == "include":
            result = render(defined[head[1].strip('"')], values, defined)
        elif head[0] == "toYaml":
            result = yaml.safe_dump(value_of(head[1])).rstrip()
        else:
            result = value_of(head[0])
        for word in words[1:]:
            if word == "quote":
                result = json.dumps(result)
            elif word == "sha256sum":
                result = hashlib.sha256(result.encode()).hexdigest()
            else:
                result = indented(result, int(re.fullmatch(r"indent (\d+)", word).group(1)))
        return str(result)

    text = re.sub(r"\{\{- if (\S+) \}\}\n(.*?)\{\{- end \}\}\n", lambda match: match.group(2) if value_of(match.group(1)) else "", text,
                  flags=re.DOTALL)
    return re.sub(r"\{\{ (.*?) \}\}", replace, text)


def check_chart():
    metadata = yaml.safe_load(read("helm", "postroom", "Chart.yaml"))
    values = yaml.safe_load(read("helm", "postroom", "values.yaml"))
    schema = json.loads(read("helm", "postroom", "values.schema.json"))
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(values, schema)
    for wrong in (dict(values, replicas=0), dict(values, replica=1)):
        try:
            jsonschema.validate(wrong, schema)
        except jsonschema.ValidationError:
            continue
        raise AssertionError("the schema takes anything")
    version = subprocess.run([program, "version"], check=True, capture_output=True, text=True).stdout
    assert metadata["appVersion"] in version and values["image"]["tag"] == metadata["appVersion"], version
    defined = dict(re.findall(r'\{\{- define "(\S+)" -\}\}\n(.*?)\{\{- end \}\}', read("helm", "postroom", "templates", "_pod.tpl"), re.DOTALL))
    documents = {}
    for name in sorted(os.listdir(os.path.join(chart, "templates"))):
        if name.endswith(".yaml"):
            documents[name] = yaml.safe_load(render(read("helm", "postroom", "templates", name), values, defined))
    kinds = {name: document["kind"] for name, document in documents.items()}
    assert kinds == {"configmap.yaml": "ConfigMap", "deployment.yaml": "Deployment"}, kinds
    deployment = documents["deployment.yaml"]["spec"]
    assert deployment["selector"]["matchLabels"].items() <= deployment["template"]["metadata"]["labels"].items()
    pod = deployment["template"]["spec"]
    [migration], [relay] = pod["initContainers"], pod["containers"]
    assert migration["args"] == ["migrate", "up"], "a relay that finds no schema does not start"
    for container in (migration, relay):
        assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    assert pod["volumes"][0]["configMap"]["name"] == documents["configmap.yaml"]["metadata"]["name"]
    without = render(read("helm", "postroom", "templates", "deployment.yaml"), dict(values, migrate=False), defined)
    assert "initContainers" not in yaml.safe_load(without)["spec"]["template"]["spec"]
    for probe in ("livenessProbe", "readinessProbe"):
        check_probe(relay[probe]["exec"]["command"])
    check_config(documents["configmap.yaml"]["data"]["postroom.toml"])


check_compose()
check_variables()
check_dockerfile()
check_chart()
