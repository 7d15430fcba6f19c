import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import { type JsonSchema, labelOf } from '../../schema/json-schema.ts';
import { resolveSchema } from '../../schema/openapi-document.ts';
import { ChoiceList } from '../choice-list.tsx';
import type { FieldProps } from './field-props.ts';
import { IsNew } from './is-new.ts';

/** Whether the object has one of several kinds, each with its own fields: the API takes exactly one of them. */
export function isOneOfKinds({ properties = {}, required = [] }: JsonSchema): boolean {
  const kinds = Object.values(properties).map(resolveSchema);
  return kinds.length > 1 && required.length === 0 && kinds.every((kind) => kind.properties !== undefined);
}

interface KindFieldProps extends FieldProps {
  /** The form of one kind. */
  readonly fieldsOf: (kind: string, value: Readonly<Record<string, unknown>>) => ComponentChildren;
}

/** Asks for the kind first, and shows the fields of that kind only. */
export function KindField({ name, path, schema, isRequired, value, onChange, fieldsOf }: KindFieldProps) {
  const isNew = useContext(IsNew);
  const { properties = {} } = schema;
  const given = (value ?? {}) as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  const chosen = Object.keys(properties).find((kind) => given[kind] !== undefined) ?? null;
  // A webhook does not become a file: that is another destination.
  const isFixed = !isNew && chosen !== null && path === '/target';
  return (
    <ChoiceList
      legend={labelOf(name)}
      name={path}
      isRequired={isRequired}
      value={chosen}
      choices={Object.entries(properties)
        .filter(([kind]) => !isFixed || kind === chosen)
        .map(([kind, fields]) => ({
          value: kind,
          name: labelOf(kind),
          hint: resolveSchema(fields).description,
          fields: fieldsOf(kind, given[kind] ?? {}),
        }))}
      onChange={(kind) => onChange({ [kind]: given[kind] ?? {} })}
    />
  );
}
