import Type, { type Static, type TObject, type TProperties } from 'typebox';
import type { ErrorRows } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import type { FieldProblem } from '../lib/schema/field-problem.ts';
import type { DeclaredSettings, SettingValues } from '../lib/settings/setting.ts';
import type { AgentAccess } from './agent-form.ts';
import type { ModuleQuestion } from './module-question.ts';
import type { ModuleNetwork, ModuleRuntime, RuntimePorts, SharedRuntime } from './module-runtime.ts';
import type { Preparation, PreparePorts } from './prepared-module.ts';

/**
 * A module's contract. Its folder holds the wire schema, the behaviour on traffic, errors, tests and README; the
 * folder's name is the wire name. PUT/GET/DELETE, validation, OpenAPI, references, sealed secrets, its place in the
 * route or edge, the command line and the client follow from the schema alone.
 */
export interface Module<Config extends TObject = TObject, Settings extends DeclaredSettings = DeclaredSettings> {
  /** Wire name, which is also the folder's name. */
  readonly name: string;
  readonly level: 'edge' | 'route';
  /**
   * Whether it decides access. If an upstream may read a path as that of a route where such modules are configured
   * differently, the path is rejected: see src/snapshot/access-guard.ts.
   */
  readonly decidesAccess: boolean;
  /** Whether it logs people in. A route has at most one such module. */
  readonly isLogin?: boolean;
  readonly title: string;
  readonly description: string;
  /** The stored form: every field present, defaults as `default`. */
  readonly config: Config;
  /** Fields that responses add, always with these values. A client may send them back. */
  readonly constants?: { readonly schema: TProperties; readonly values: JsonObject };
  /** A valid body; `{backend}` and the like are replaced by ids in the documentation. */
  readonly example: JsonObject;
  /** Rows of the errors page and the OpenAPI document, under their own heading. */
  readonly errors?: { readonly title: string; readonly rows: ErrorRows };
  /**
   * Request headers that the module sends upstream and upstreams therefore trust: names in lower case, or prefixes that
   * end in `*`. The edge drops them from the requests of all clients, on every host. Names that start with `postern-`
   * are always reserved.
   */
  readonly reservedHeaders?: readonly string[];
  /** Names of its cookies that are the same on every host, in lower case, or prefixes that end in `*`: no upstream may set them. */
  readonly reservedCookies?: readonly string[];
  /** Paths under `/.postern/` that it serves on the hosts where it is enabled: see `PreparedModule.ownPaths`. */
  readonly ownPaths?: readonly string[];
  /** Those whose requests carry secrets: on hosts where no module serves them, they are rejected and not forwarded. */
  readonly secretPaths?: readonly string[];
  /** Sentences for the reasons of its verdicts, for people who ask why; absent ones appear by their name alone. */
  readonly reasons?: Readonly<Record<string, string>>;
  /** Read-only operations about its configuration, for modules of routes. */
  readonly questions?: readonly ModuleQuestion[];
  /** How agents may request it on their own endpoints; absent: they may not. */
  readonly agent?: AgentAccess;
  /** Settings of the server that belong to the module: flags, variables, YAML keys and their documentation are made from the rows. */
  readonly settings?: Settings;
  /** State that it shares with other modules. Their settings reach its hooks, and their names count as its own. */
  readonly shared?: readonly SharedRuntime[];
  /** Kinds of records that the module stores for itself: see `RuntimePorts.records`. */
  readonly recordKinds?: readonly string[];
  /** Kinds of configuration that its runtime reads: see `RuntimePorts.followed`. */
  readonly followedKinds?: readonly string[];
  /** Rules that the schema cannot express: across fields, and formats. */
  check?(config: Static<Config>, context: CheckContext<SettingValues<Settings>>): readonly FieldProblem[];
  /**
   * Prepares the module for traffic, once per version of the configuration; requests touch only the result. It may
   * fail: then the route rejects traffic and reports why, and never serves without the module. No I/O: external data
   * comes in through `ports`. Called for enabled modules only.
   */
  prepare(config: Static<Config>, ports: PreparePorts<SettingValues<Settings>>): Preparation;
  /** For a module that keeps state across routes and versions; created once, where traffic is served. */
  createRuntime?(ports: RuntimePorts, settings: SettingValues<Settings>): Promise<ModuleRuntime>;
}

/** Context of a check, beside the configuration itself. */
export interface CheckContext<Settings = never> {
  /** The module's own settings. */
  readonly settings: Settings;
  /** Where the server may connect, when an agent asks for the module; absent for operators. */
  readonly agentNetwork?: Pick<ModuleNetwork, 'isAddressAllowed'>;
}

/**
 * Key of a module's record on an edge or route. The id is derived from the owner's but different: the store knows
 * parents by id alone, so deleting a module with the id of its owner would delete everything below the owner.
 */
export function moduleRecordKey(
  ownerKind: string,
  ownerId: string,
  moduleName: string,
): { readonly kind: string; readonly id: string } {
  return { kind: `${ownerKind}.${moduleName}`, id: moduleRecordId(ownerId, moduleName) };
}

export function moduleRecordId(ownerId: string, moduleName: string): string {
  return `${ownerId}.${moduleName}`;
}

/** The inverse: null for kinds of other records. */
export function moduleNameOf(ownerKind: string, kind: string): string | null {
  return kind.startsWith(`${ownerKind}.`) ? kind.slice(ownerKind.length + 1) : null;
}

/** Keeps the definition's own types for its hooks, and gives the registry a common type. */
export function defineModule<Config extends TObject, Settings extends DeclaredSettings = Record<never, never>>(
  module: Module<Config, Settings>,
): Module {
  return module as unknown as Module;
}

export const enabledField = Type.Boolean({
  default: true,
  description: 'Whether the module is applied to traffic. Default: true.',
});
