import { isJsonObject, type JsonObject } from '../../lib/json.ts';
import type { ParameterObject } from '../openapi/document.ts';
import type { DocumentReader } from './document-reader.ts';
import { type Html, html, prose } from './html.ts';
import { componentName, constraintTexts, typeText } from './schema-text.ts';

interface Field {
  readonly name: string;
  readonly schema: JsonObject;
  readonly description: string;
  readonly isRequired: boolean;
}

/** `body`: marks required fields. `response`: marks fields that may be absent. */
export type FieldUse = 'body' | 'response';

/** The fields of an object, with those of nested objects collapsed. */
export function fieldList(schema: JsonObject, use: FieldUse, reader: DocumentReader): Html {
  const required = (schema['required'] ?? []) as readonly string[];
  const properties = Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, JsonObject>>);
  if (properties.length === 0) return html`<p class="none">No fields.</p>`;
  return rows(
    properties.map(([name, field]) => {
      const schema = reader.field(field);
      const description = (schema['description'] as string | undefined) ?? '';
      return { name, schema, description, isRequired: required.includes(name) };
    }),
    use,
    reader,
  );
}

export function parameterList(parameters: readonly ParameterObject[], reader: DocumentReader): Html {
  return rows(
    parameters.map(({ name, in: place, schema, description, required }) => ({
      name,
      // The prefix already shows the form of an id; the pattern would only repeat it.
      schema: place === 'path' ? { type: schema['type'] ?? 'string' } : schema,
      description,
      isRequired: required === true,
    })),
    'body',
    reader,
  );
}

function rows(fields: readonly Field[], use: FieldUse, reader: DocumentReader): Html {
  return html`<dl class="fields">${fields.map((field) => row(field, use, reader))}</dl>`;
}

function row({ name, schema, description, isRequired }: Field, use: FieldUse, reader: DocumentReader): Html {
  const inner = nestedObject(schema);
  const constraints = constraintTexts(schema);
  const presence = use === 'body' ? isRequired && 'required' : !isRequired && 'may be absent';
  return html`<div><dt><code>${name}</code> <span class="type">${typeText(schema)}</span>${
    presence !== false && html` <strong class="presence">${presence}</strong>`
  }</dt><dd>${prose(description)}${
    constraints.length > 0 && html` <span class="constraints">${constraints.join(' · ')}</span>`
  }${inner !== null && html`<details><summary>Fields of <code>${name}</code></summary>${fieldList(inner, use, reader)}</details>`}</dd></div>`;
}

/** An unnamed object, optional, in a list or in a map. */
function nestedObject(schema: JsonObject): JsonObject | null {
  if (componentName(schema) !== null) return null;
  if (schema['properties'] !== undefined) return schema;
  const options = (schema['anyOf'] ?? []) as readonly JsonObject[];
  const inside = [...options, schema['items'], schema['additionalProperties']].filter(isJsonObject);
  return inside.map(nestedObject).find((found) => found !== null) ?? null;
}
