import { labelOf } from '../../schema/json-schema.ts';
import { resolveSchema } from '../../schema/openapi-document.ts';
import { EventTypesField } from './event-types-field.tsx';
import type { FieldProps } from './field-props.ts';
import { JsonField } from './json-field.tsx';
import { ListField } from './list-field.tsx';
import { MapField } from './map-field.tsx';
import { ReferenceField, ReferenceListField } from './reference-field.tsx';
import { SchemaForm } from './schema-form.tsx';
import { TextField } from './text-field.tsx';

/** Chooses the input by the schema alone. */
export function SchemaField(given: FieldProps) {
  const props = { ...given, schema: resolveSchema(given.schema) };
  const { schema, name, path, value, onChange } = props;
  const reference = given.schema['x-reference'] ?? schema['x-reference'];
  if (reference !== undefined && schema.type === 'string') return <ReferenceField {...props} />;
  if (reference !== undefined && schema.type === 'array') return <ReferenceListField {...props} />;
  if (schema.type === 'boolean') return <CheckField {...props} />;
  if (schema.enum !== undefined) return <ChoiceField {...props} />;
  if (schema.type === 'string' || schema.type === 'integer' || schema.type === 'number')
    return <TextField {...props} />;
  if (path === '/sources' && schema.type === 'array') return <EventTypesField {...props} />;
  if (schema.type === 'array') return <ListField {...props} />;
  if (schema.type === 'object' && typeof schema.additionalProperties === 'object') return <MapField {...props} />;
  if (schema.type === 'object' && schema.properties !== undefined) {
    return (
      <fieldset class="stack-small">
        <legend>{labelOf(name)}</legend>
        {schema.description !== undefined && <p class="hint">{schema.description}</p>}
        <SchemaForm
          schema={schema}
          path={path}
          value={(value ?? {}) as Record<string, unknown>}
          onChange={(next) => onChange(Object.keys(next).length === 0 && !given.isRequired ? undefined : next)}
        />
      </fieldset>
    );
  }
  return <JsonField {...props} />;
}

function CheckField({ name, path, schema, value, onChange }: FieldProps) {
  const isOn = value === undefined ? schema.default === true : value === true;
  return (
    <div class="field">
      <div class="check">
        <input
          type="checkbox"
          id={path}
          checked={isOn}
          aria-describedby={`${path}-hint`}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
        <label for={path}>{labelOf(name)}</label>
      </div>
      <span class="hint" id={`${path}-hint`}>
        {schema.description}
      </span>
    </div>
  );
}

function ChoiceField({ name, path, schema, isRequired, value, onChange }: FieldProps) {
  const chosen = String(schema.enum?.find((each) => each === (value ?? schema.default)) ?? '');
  return (
    <div class="field">
      <label for={path}>
        {labelOf(name)}
        {isRequired && <span class="muted"> (required)</span>}
      </label>
      <select
        id={path}
        value={chosen}
        required={isRequired}
        aria-describedby={`${path}-hint`}
        onChange={(event) => onChange(schema.enum?.find((each) => String(each) === event.currentTarget.value))}
      >
        {chosen === '' && <option value="">Choose …</option>}
        {schema.enum?.map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
      <span class="hint" id={`${path}-hint`}>
        {schema.description}
      </span>
    </div>
  );
}
