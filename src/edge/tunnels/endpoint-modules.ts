import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { FIELD_RULES } from '../../lib/net/field-rules.ts';
import { createDecoder } from '../../lib/schema/decode-body.ts';
import { type FieldProblem, fieldName } from '../../lib/schema/field-problem.ts';
import { type AgentModule, agentModules, summaryOf } from '../../modules/agent-modules.ts';
import type { AcceptedForm, AgentField } from '../../modules/contract/agent-form.ts';
import type { CheckContext, Module } from '../../modules/contract/module.ts';
import { moduleProblems, normalized, sealed } from '../../modules/module-config.ts';
import { type ModuleSettings, settingsOf } from '../../modules/module-settings.ts';
import { modules as allModules } from '../../modules/registry.ts';
import type { DetachedRecord } from '../../snapshot/detached-edge.ts';
import type { EndpointModules } from '../../tunnel/messages.ts';

export type Proto = 'http' | 'https' | 'tcp' | 'tls';

export interface DecodedModules {
  readonly modules: ReadonlyMap<string, JsonObject>;
  readonly records: readonly DetachedRecord[];
}

/** The server's modules and their settings. */
export interface ModuleServer {
  readonly modules: readonly Module[];
  readonly moduleSettings: ModuleSettings;
  readonly agentNetwork?: CheckContext['agentNetwork'];
}

/** Refusal message for the agent's user. */
export class ModuleRefusal extends Error {}

const UNSUPPORTED_REASONS: Readonly<Record<Proto, string>> = {
  https: '',
  http: 'plain http cannot protect a login or a client certificate: use https',
  tcp: 'the server does not inspect the bytes of a tcp tunnel',
  tls: 'the server cannot decrypt a tls tunnel',
};

/** Turns the modules that an agent requests into configuration and records of an edge. Throws ModuleRefusal. */
export function decodeModules(
  endpointId: string,
  proto: Proto,
  asked: EndpointModules,
  server: ModuleServer,
): DecodedModules {
  const offered = new Map(agentModules(server.modules).map((module) => [module.name, module]));
  const wanted = Object.entries(asked)
    .filter(([, form]) => form !== undefined)
    .map(([name, form]) => [moduleFor(name, proto, offered), form as JsonValue] as const);
  const logins = wanted.map(([module]) => module).filter(({ isLogin }) => isLogin === true);
  if (logins.length > 1) {
    throw new ModuleRefusal(
      `${logins.map(({ name }) => name).join(' and ')} cannot be used together: a tunnel has one login`,
    );
  }
  const modules = new Map<string, JsonObject>();
  const records: DetachedRecord[] = [];
  for (const [module, form] of wanted) {
    const accepted = acceptForm(module, form, endpointId, server);
    modules.set(module.name, accepted.config);
    records.push(...accepted.records);
  }
  return { modules, records };
}

/** A list of people or addresses may be long. */
const MAX_RULE = 200;

/** Who may enter, as short texts without secrets. Empty: everybody. */
export function entryRules(asked: EndpointModules): readonly string[] {
  return agentModules(allModules).flatMap((module) => {
    const form = asked[module.name];
    if (!module.decidesAccess || !isJsonObject(form) || form['enforce'] === false || form['enabled'] === false) {
      return [];
    }
    const texts = summaryOf(module.agent.form, form);
    return (texts.length === 0 ? [module.title] : texts).map((text) =>
      text.length > MAX_RULE ? `${text.slice(0, MAX_RULE)}…` : text,
    );
  });
}

function moduleFor(name: string, proto: Proto, offered: ReadonlyMap<string, AgentModule>): AgentModule {
  const module = offered.get(name);
  if (module === undefined) throw new ModuleRefusal(`there is no module "${name}"`);
  if (module.agent.form.protocols.includes(proto)) return module;
  throw new ModuleRefusal(
    `${name} cannot be applied to a tunnel of the protocol ${proto}: ${UNSUPPORTED_REASONS[proto]}`,
  );
}

function acceptForm(module: AgentModule, form: JsonValue, endpointId: string, server: ModuleServer): AcceptedForm {
  const { name, agent } = module;
  if (!isJsonObject(form)) throw new ModuleRefusal(`${name}: must be an object`);
  const decoded = decodeForm(module, form, server);
  for (const field of agent.form.fields) checkRule(name, field, decoded[field.name]);
  const missing = agent.form.fields.filter((field) => field.isNeeded === true && decoded[field.name] === '');
  // Without any field it may be whole: then `accept` decides.
  if (missing.length > 0 && agent.form.bare === undefined) {
    throw new ModuleRefusal(`${name}: ${missing.map((field) => field.name).join(' and ')} must be given`);
  }
  const { settings } = checkContext(module, server);
  const accepted = agent.accept?.(decoded, endpointId, settings) ?? { config: decoded, records: [] };
  if ('problem' in accepted) throw new ModuleRefusal(`${name}: ${accepted.problem}`);
  if (agent.schema !== undefined)
    refuseProblem(name, moduleProblems(module, accepted.config, checkContext(module, server)));
  const result = sealed(module, normalized(module, accepted.config), { stored: null, seed: endpointId });
  if ('problems' in result) refuseProblem(name, result.problems);
  return { ...accepted, ...('config' in result && { config: result.config }) };
}

function refuseProblem(module: string, [problem]: readonly FieldProblem[] = []): void {
  if (problem !== undefined) throw new ModuleRefusal(`${module}: ${fieldName(problem.path)} ${problem.message}`);
}

function checkContext(module: AgentModule, { moduleSettings, agentNetwork }: ModuleServer): CheckContext {
  return { settings: settingsOf(moduleSettings, module), ...(agentNetwork !== undefined && { agentNetwork }) };
}

/** Decoded like a PUT, where the form is the module's configuration. */
function decodeForm(module: AgentModule, form: JsonObject, server: ModuleServer): JsonObject {
  const { schema } = module.agent;
  const decoded = createDecoder(schema ?? module.config).decode(form);
  const context = checkContext(module, server);
  const checked = decoded.ok && schema === undefined ? moduleProblems(module, decoded.value, context) : [];
  const [problem] = decoded.ok ? checked : decoded.problems;
  if (decoded.ok && problem === undefined) return decoded.value;
  throw new ModuleRefusal(`${module.name}: ${fieldName(problem?.path ?? '')} ${problem?.message ?? ''}`);
}

/** The same rule that the agent's commands apply to the field. */
function checkRule(module: string, { rule }: AgentField, value: JsonValue | undefined): void {
  if (rule === undefined) return;
  for (const text of Array.isArray(value) ? value : [value]) {
    const problem = typeof text === 'string' ? FIELD_RULES[rule](text) : null;
    const shown = rule === 'credentials' ? 'a user' : JSON.stringify(text);
    if (problem !== null) throw new ModuleRefusal(`${module}: ${shown} ${problem}`);
  }
}
