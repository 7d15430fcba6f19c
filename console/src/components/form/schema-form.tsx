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

/** A form for any object of the API: its schema has the labels, the limits and the help. */
export function SchemaForm({ schema, value, onChange, without = [], path = '' }: SchemaFormProps) {
  const { properties = {}, required = [] } = resolveSchema(schema);
  const names = Object.keys(properties)
    .filter((name) => !without.includes(name))
    .sort((one, other) => rank(one, required) - rank(other, required));
  return (
    <>
      {names.map((name) => (
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
      ))}
    </>
  );
}

function rank(name: string, required: readonly string[]): number {
  if (required.includes(name)) return 0;
  return LAST.includes(name) ? 2 : 1;
}
