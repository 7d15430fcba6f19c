import { countProblem, elementProblem } from '../../schema/element-problem.ts';
import { type JsonSchema, labelOf } from '../../schema/json-schema.ts';
import { resolveSchema } from '../../schema/openapi-document.ts';
import { emptyOf } from '../../schema/write-form.ts';
import { ElementInput } from './element-input.tsx';
import { EventTypesField } from './event-types-field.tsx';
import type { FieldProps } from './field-props.ts';
import { JsonField } from './json-field.tsx';
import { isOneOfKinds, KindField } from './kind-field.tsx';
import { looseText, looseValue } from './loose-value.ts';
import { MapField } from './map-field.tsx';
import { ReferenceField, ReferenceListField } from './reference-field.tsx';
import { isScopes, ScopesField } from './scopes-field.tsx';
import { TextField } from './text-field.tsx';
import { useNewEntry } from './use-new-entry.ts';

export type FormValue = Readonly<Record<string, unknown>>;

interface SchemaFormProps {
  readonly schema: JsonSchema;
  readonly value: FormValue;
  readonly onChange: (value: FormValue) => void;
  /** Fields that are edited elsewhere, such as the modules of a route. */
  readonly without?: readonly string[];
  readonly path?: string;
}

/** Fields that every resource or module has come last: they matter least. */
const LAST = ['enabled', 'description', 'metadata'];

/** Few people change them: they are behind "More", unless they have a value. */
const MORE: ReadonlySet<string> = new Set([
  ...['metadata', 'options_passthrough', 'realm', 'cookie_prefix', 'auth_id_token', 'inactivity_timeout'],
  ...['maximum_duration', 'userinfo_claims', 'pkce', 'previous_secret'],
]);

/** A form for any object of the API: its schema has the labels, the limits and the help. */
export function SchemaForm({ schema, value, onChange, without = [], path = '' }: SchemaFormProps) {
  const { properties = {}, required = [] } = resolveSchema(schema);
  const names = Object.keys(properties)
    .filter((name) => !without.includes(name))
    .sort((one, other) => rank(one, required) - rank(other, required));
  const field = (name: string) => (
    <SchemaField
      key={name}
      name={name}
      path={`${path}/${name}`}
      schema={properties[name] ?? {}}
      isRequired={required.includes(name)}
      value={value[name]}
      onChange={(next) => {
        const { [name]: _, ...others } = value;
        // A changed field keeps its place: the difference shows one line.
        onChange(next === undefined ? others : { ...value, [name]: next });
      }}
    />
  );
  const more = names.filter((name) => MORE.has(name) && !required.includes(name));
  const isSet = more.some((name) => isTold(value[name], resolveSchema(properties[name] ?? {}).default));
  return (
    <>
      {names.filter((name) => !more.includes(name)).map(field)}
      {more.length > 0 && (
        <details open={isSet}>
          <summary>More</summary>
          <div class="stack-small">{more.map(field)}</div>
        </details>
      )}
    </>
  );
}

/** Something else than what the server takes by itself. */
function isTold(value: unknown, usual: unknown): boolean {
  return ![undefined, null, '', 0, false, usual].includes(value as never);
}

function rank(name: string, required: readonly string[]): number {
  if (required.includes(name)) return 0;
  return LAST.includes(name) ? 2 : 1;
}

/** Chooses the input by the schema alone. */
function SchemaField(given: FieldProps) {
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
  if (isScopes(given)) return <ScopesField {...props} />;
  if (schema.type === 'array') return <ListField {...props} />;
  if (schema.type === 'object' && typeof schema.additionalProperties === 'object') return <MapField {...props} />;
  if (isOneOfKinds(schema)) {
    const fieldsOf = (kind: string, fields: FormValue) => (
      <SchemaForm
        schema={schema.properties?.[kind] ?? {}}
        path={`${path}/${kind}`}
        value={fields}
        onChange={(next) => onChange({ [kind]: next })}
      />
    );
    return <KindField {...props} fieldsOf={fieldsOf} />;
  }
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

/** One row per element; elements that are objects get a form of their own. */
function ListField({ name, path, schema, value, onChange }: FieldProps) {
  const items = resolveSchema(schema.items ?? {});
  const [list, onAdded] = useNewEntry();
  const values: readonly unknown[] = Array.isArray(value) ? value : [];
  const replace = (index: number, next: unknown): void =>
    onChange(values.map((old, at) => (at === index ? next : old)));
  const isObject = items.properties !== undefined;
  return (
    <fieldset class="stack-small">
      <legend>{labelOf(name)}</legend>
      <p class="hint">{schema.description}</p>
      <ul class="entries" ref={list}>
        {values.map((each, index) => (
          <li class="entry" key={index}>
            <div class="grow stack-small">
              {isObject ? (
                <fieldset class="stack-small">
                  <legend>{`${labelOf(name)} ${index + 1}`}</legend>
                  <SchemaForm
                    schema={items}
                    path={`${path}/${index}`}
                    value={(each ?? {}) as Record<string, unknown>}
                    onChange={(next) => replace(index, next)}
                  />
                </fieldset>
              ) : (
                <ElementInput
                  id={`${path}/${index}`}
                  label={`${labelOf(name)} ${index + 1}`}
                  text={items.type === 'string' ? String(each) : looseText(each)}
                  problem={elementProblem(values, index, items)}
                  onInput={(text) => replace(index, items.type === 'string' ? text : looseValue(text))}
                />
              )}
            </div>
            <button
              type="button"
              class="small"
              aria-label={`Remove ${labelOf(name)} ${index + 1}`}
              onClick={() => onChange(values.filter((_, at) => at !== index))}
            >
              Remove
            </button>
          </li>
        ))}
      </ul>
      <span class="problem" aria-live="polite">
        {countProblem(values.length, schema)}
      </span>
      <div>
        <button
          type="button"
          class="small"
          aria-label={`Add to ${labelOf(name)}`}
          onClick={() => {
            onAdded();
            onChange([...values, isObject ? {} : items.type === 'string' ? '' : (emptyOf(items) ?? '')]);
          }}
        >
          Add
        </button>
      </div>
    </fieldset>
  );
}
