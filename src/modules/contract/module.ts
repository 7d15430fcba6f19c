import Type, { type Static, type TObject, type TProperties } from 'typebox';
import type { JsonObject } from '../../lib/json.ts';
import type { FieldProblem } from '../../lib/schema/field-problem.ts';
import type { DeclaredSettings, SettingValues } from '../../lib/settings/setting.ts';
import type { AgentAccess } from './agent-form.ts';
import type { DeclaresRequestChanges } from './changes-requests.ts';
import type { DeclaresChildTables } from './child-table.ts';
import type { DeclaresDecisions } from './decides.ts';
import type { DeclaresState, ModuleNetwork, ModuleRuntime } from './keeps-state.ts';
import type { DeclaresClaims } from './learns-claims.ts';
import type { ModuleQuestion } from './module-question.ts';
import type { Preparation, PreparePorts } from './prepare.ts';
import type { DeclaresLogin } from './recognizes-requesters.ts';
import type { DeclaresPaths } from './serves-paths.ts';
import type { DeclaresShownState } from './shows-state.ts';

/**
 * What every module has. Its folder holds this, the behaviour on traffic, errors, tests and README. PUT/GET/DELETE,
 * validation, OpenAPI, references, sealed secrets, its place in the route or edge, the command line and the client
 * follow from the schema alone.
 */
export interface EveryModule<Config extends TObject, Settings extends DeclaredSettings, Runtime> {
  /** Wire name, which is also the folder's name. */
  readonly name: string;
  readonly level: 'edge' | 'route';
  /** Whether it decides who may enter: see src/snapshot/route-table.ts for what follows from it. */
  readonly decidesAccess: boolean;
  /**
   * What in a configuration reads the paths of requests, such as `rules[0] path_prefix /old/`; null: nothing there; false:
   * nothing in any. Whatever depends on what a path says reads it: a condition, a change of it, a header made of it. To
   * keep it and to send it back, as a login does, does not count. See `RouteTable.match` for what follows.
   */
  readonly readsPath: false | ((config: Static<Config>) => string | null);
  readonly title: string;
  readonly description: string;
  /** The stored form: every field present, defaults as `default`. */
  readonly config: Config;
  /** A valid body; `{backend}` and the like are replaced by ids in the documentation. */
  readonly example: JsonObject;
  /**
   * Returns the hooks that traffic passes, once per version of the configuration. It may fail: then the route rejects
   * traffic and reports why. No I/O. Called for enabled modules only.
   */
  prepare(config: Static<Config>, ports: PreparePorts<Runtime, SettingValues<Settings>>): Preparation;
}

/** A module: what every module has, and what it declares for each capability that it uses. */
export interface Module<
  Config extends TObject = TObject,
  Settings extends DeclaredSettings = DeclaredSettings,
  Runtime extends ModuleRuntime = ModuleRuntime,
> extends EveryModule<Config, Settings, Runtime>,
    DeclaresDecisions,
    DeclaresRequestChanges,
    DeclaresPaths,
    DeclaresLogin,
    DeclaresClaims,
    DeclaresShownState,
    DeclaresChildTables,
    DeclaresState<Settings, Runtime> {
  /** Rules that the schema cannot express: across fields, and formats. Called when a configuration is written. */
  check?(config: Static<Config>, context: CheckContext<SettingValues<Settings>>): readonly FieldProblem[];
  /**
   * Loads a part of the program that only some configurations need; null: it is loaded. Runs before `check` and `prepare`
   * get the configuration, so that a part that nobody uses takes no time and no memory.
   */
  load?(config: Static<Config>): Promise<void> | null;
  /** Brings a configuration that has passed `check` into the form that is stored and shown. */
  normalize?(config: Static<Config>): Static<Config>;
  /**
   * For secrets of which only a hash is stored (`hashed`): the stored form of a configuration that has passed `check`.
   * What cannot be computed at once throws MissingPart, and is asked for again when it is there. Stored configurations,
   * as an undo restores them, do not come here.
   */
  seal?(config: Static<Config>, context: SealContext<Static<Config>>): Sealed<Static<Config>>;
  /** Settings of the server that belong to the module: flags, variables, YAML keys and their documentation are made from the rows. */
  readonly settings?: Settings;
  /** Fields that responses add, always with these values. A client may send them back. */
  readonly constants?: { readonly schema: TProperties; readonly values: JsonObject };
  /** Read-only operations about its configuration, for modules of routes. */
  readonly questions?: readonly ModuleQuestion[];
  /** How agents may request it on their own endpoints; absent: they may not. */
  readonly agent?: AgentAccess;
}

export interface SealContext<Config> {
  /** With its hashes; null: there is none. */
  readonly stored: Config | null;
  /** For what is not stored: the same seed gives every thread the same hashes. Null: they are random. */
  readonly seed: string | null;
}

export type Sealed<Config> = { readonly config: Config } | { readonly problems: readonly FieldProblem[] };

/** Context of a check, beside the configuration itself. */
export interface CheckContext<Settings = never> {
  /** The module's own settings. */
  readonly settings: Settings;
  /** Where the server may connect, when an agent asks for the module; absent for operators. */
  readonly agentNetwork?: Pick<ModuleNetwork, 'isAddressAllowed'>;
}

/** Keeps the definition's own types for its hooks, and gives the registry a common type. */
export function defineModule<
  Config extends TObject,
  Settings extends DeclaredSettings = Record<never, never>,
  Runtime extends ModuleRuntime = ModuleRuntime,
>(module: Module<Config, Settings, Runtime>): Module {
  return module as unknown as Module;
}

export const enabledField = Type.Boolean({
  default: true,
  description: 'Whether the module is applied to traffic. Default: true.',
});
