// Writes the TypeScript types of the admin API from its OpenAPI document, so that the page cannot
// speak of a field that the server does not have.
import { readFileSync } from "node:fs";
import { parse } from "yaml";

const last_part = (ref) => ref.slice(ref.lastIndexOf("/") + 1);

function type_of(schema) {
    if (schema.$ref) return last_part(schema.$ref);
    if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
    if ("const" in schema) return JSON.stringify(schema.const);
    if (schema.anyOf) return schema.anyOf.map(type_of).join(" | ");
    if (Array.isArray(schema.type)) return schema.type.map((type) => type_of({ ...schema, type })).join(" | ");
    switch (schema.type) {
        case "null":
        case "string":
        case "boolean":
            return schema.type;
        case "integer":
        case "number":
            return "number";
        case "array":
            return `readonly (${type_of(schema.items)})[]`;
        case "object":
            return object_type(schema);
        default:
            throw new Error(`no TypeScript for ${JSON.stringify(schema)}`);
    }
}

function object_type(schema) {
    if (!schema.properties) return `Readonly<Record<string, ${type_of(schema.additionalProperties)}>>`;
    const required = new Set(schema.required ?? []);
    const members = Object.entries(schema.properties).map(
        ([name, of]) => `readonly ${name}${required.has(name) ? "" : "?"}: ${type_of(of)};`,
    );
    return `{ ${members.join(" ")} }`;
}

export function api_types(document) {
    const { components } = parse(readFileSync(document, "utf8"), { merge: true });
    const types = Object.entries(components.schemas).map(([name, schema]) => `export type ${name} = ${type_of(schema)};\n`);
    return `// Made from ${last_part(document)}.\n${types.join("")}`;
}
