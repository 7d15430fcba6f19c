import type { JsonSchema } from '../../schema/json-schema.ts';
import { resolveSchema } from '../../schema/openapi-document.ts';
import { SchemaField } from './schema-field.tsx';

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
  ...['maximum_duration', 'userinfo_claims', 'pkce'],
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
