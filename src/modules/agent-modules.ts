import type { TObject, TSchema } from 'typebox';
import { secretVisibility } from '../kit/schema/schema-facts.ts';
import type { AgentAccess, AgentField, AgentFlag, AgentForm } from './contract/agent-form.ts';
import type { Module } from './contract/module.ts';

export type AgentModule = Module & { readonly agent: AgentAccess };

/** Modules that agents can request, in the order of their forms. */
export function agentModules(modules: readonly Module[]): readonly AgentModule[] {
  return modules
    .filter((module): module is AgentModule => module.agent !== undefined)
    .sort((a, b) => a.agent.form.order - b.agent.form.order);
}

/** For display, such as "login at https://idp.example.com". */
export function summaryOf(
  { summary, bare }: Pick<AgentForm, 'summary' | 'bare'>,
  config: Readonly<Record<string, unknown>> | undefined,
): readonly string[] {
  if (config === undefined) return [];
  if (bare !== undefined && Object.keys(config).length === 0) return [bare.summary];
  return summary.flatMap((template) => {
    let isWhole = true;
    const text = template.replaceAll(/\{(\w+)\}/g, (_braces, name: string) => {
      const value = config[name];
      const shown = Array.isArray(value) ? value.join(', ') : String((value ?? '') as string | number | boolean);
      if (shown === '') isWhole = false;
      return shown;
    });
    return isWhole ? [text] : [];
  });
}

/** A form as the agent's commands read it: the declaration, and the facts of each field's schema. */
export interface CommandForm extends Omit<AgentForm, 'fields'> {
  readonly module: string;
  readonly isLogin?: boolean;
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

type FieldKind = 'text' | 'list' | 'boolean' | 'integer' | 'number';

const KINDS: Readonly<Record<string, FieldKind>> = {
  string: 'text',
  array: 'list',
  boolean: 'boolean',
  integer: 'integer',
  number: 'number',
};

export function commandForm({ name, config, agent, isLogin }: AgentModule): CommandForm {
  const schema = agent.schema ?? config;
  const fields = agent.form.fields.map((field) => commandField(name, field, schema));
  return { module: name, ...(isLogin !== undefined && { isLogin }), ...agent.form, fields };
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
