import type { TObject, TSchema } from 'typebox';
import { secretVisibility } from '../lib/schema/schema-facts.ts';
import type { AgentModule } from './agent-modules.ts';
import type { AgentField, AgentFlag, AgentForm } from './contract/agent-form.ts';

/** A form as the agent's commands read it: the declaration, and the facts of each field's schema. */
export interface CommandForm extends Omit<AgentForm, 'fields'> {
  readonly module: string;
  readonly fields: readonly CommandField[];
}

export interface CommandField extends Omit<AgentField, 'key'> {
  readonly key: string;
  readonly kind: FieldKind;
  readonly isSecret: boolean;
  /** The bind message always has it; an empty list means absent. */
  readonly isAlwaysSent: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly flag?: AgentFlag;
}

export type FieldKind = 'text' | 'list' | 'boolean' | 'integer' | 'number';

const KINDS: Readonly<Record<string, FieldKind>> = {
  string: 'text',
  array: 'list',
  boolean: 'boolean',
  integer: 'integer',
  number: 'number',
};

export function commandForm({ name, config, agent }: AgentModule): CommandForm {
  const schema = agent.schema ?? config;
  return { module: name, ...agent.form, fields: agent.form.fields.map((field) => commandField(name, field, schema)) };
}

/**
 * Throws for a field that the schema does not have, or of a type that neither a flag nor a line of YAML can express.
 */
function commandField(module: string, field: AgentField, schema: TObject): CommandField {
  const property = schema.properties[field.name] as (TSchema & Facts) | undefined;
  const kind = KINDS[property?.type ?? ''];
  if (property === undefined || kind === undefined) {
    throw new Error(`the agent form of the ${module} module has the field ${field.name}, which its schema cannot hold`);
  }
  return {
    key: field.name,
    ...field,
    kind,
    isSecret: secretVisibility(property) !== undefined,
    isAlwaysSent: property.default === undefined && schema.required?.includes(field.name) === true,
    ...(property.minimum !== undefined && { minimum: property.minimum }),
    ...(property.maximum !== undefined && { maximum: property.maximum }),
    ...(property.maxItems !== undefined && { maxItems: property.maxItems }),
  };
}

interface Facts {
  readonly type?: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
}
