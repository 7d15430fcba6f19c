import type { Static, TObject, TProperties } from 'typebox';
import Type from 'typebox';
import type { Passing } from '../../edges/edge-kind.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { FieldProblem } from '../../kit/schema/field-problem.ts';
import type { DeclaredSettings, SettingValues } from '../../kit/settings/setting.ts';
import type { LearnedClaims } from '../learned-claims.ts';
import type { AgentAccess } from './agent-form.ts';
import type { DeclaresDecisions, DeclaresLogin } from './decides.ts';
import type { DeclaresState, ModuleNetwork, ModuleRuntime } from './keeps-state.ts';
import type { LoginSession } from './login-store.ts';
import type {
  AskedClaims,
  DeclaresChildTables,
  DeclaresClaims,
  DeclaresShownState,
  Preparation,
  PreparePorts,
} from './prepare.ts';
import type { DeclaresPaths, DeclaresRequestChanges } from './prepared-module.ts';

/**
 * What every module has. Its folder holds this, the behaviour on traffic, errors, tests and README. PUT/GET/DELETE,
 * validation, OpenAPI, references, sealed secrets, its place in the route or edge, the command line and the client
 * follow from the schema alone.
 */
interface EveryModule<Config extends TObject, Settings extends DeclaredSettings, Runtime> {
  /** Wire name, which is also the folder's name. */
  readonly name: string;
  /** What it is asked about: it can be set on each edge and route that this passes. */
  readonly on: readonly Passing[];
  /** Whether it decides who may enter: see src/proxy/snapshot/route-table.ts for what follows from it. */
  readonly decidesAccess: boolean;
  /**
   * What in a configuration reads the paths of requests, such as `rules[0] path_prefix /old/`; null: nothing there;
   * false: nothing in any. Whatever depends on what a path says reads it: a condition, a change of it, a header made of
   * it. To keep it and to send it back, as a login does, does not count. See `RouteTable.match` for what follows.
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
   * Loads a part of the program that only some configurations need; null: it is loaded. Runs before `check` and
   * `prepare` get the configuration, so that a part that nobody uses takes no time and no memory.
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
  /**
   * Settings of the server that belong to the module: flags, variables, YAML keys and their documentation are made from
   * the rows.
   */
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

/**
 * A read-only operation of the API below a module's path, such as a test of its rules. Its body may contain a proposed
 * configuration under the module's name, which is decoded like a PUT and answered for instead of the stored one.
 */
export interface ModuleQuestion {
  readonly verb: string;
  /** Last segment of the path. */
  readonly path: string;
  /** A GET has no body. */
  readonly method: 'GET' | 'POST';
  readonly summary: string;
  readonly description: string;
  readonly query?: TObject;
  /** Fields of the body beside the proposed configuration: each is optional or has a default. */
  readonly fields?: TObject;
  /** The proposed configuration must be there. */
  readonly needsProposal?: true;
  readonly example?: JsonObject;
  readonly result: TObject;
  /** Scopes that are needed beside that of reading the route or edge. */
  readonly alsoReads?: readonly string[];
  answer(asked: Asked, ports: QuestionPorts): QuestionResult | Promise<QuestionResult>;
}

export type QuestionResult = JsonObject | { readonly problems: readonly FieldProblem[] };

export interface Asked {
  /** The stored or the proposed configuration. */
  readonly config: JsonObject;
  readonly place: { readonly edgeId: string; readonly routeId: string };
  readonly fields: JsonObject;
  readonly query: Readonly<Record<string, string>>;
}

export interface QuestionPorts {
  readonly nowMs: number;
  /** A configuration record's document, without its secrets. */
  record(kind: string, id: string): JsonObject | undefined;
  /** All logins that have not ended, newest first, page by page. */
  sessions(): AsyncIterable<readonly LoginSession[]>;
  /**
   * What logins of the route bring, if its rules asked for these claims; null: it has no login.
   */
  learnedClaims(place: Asked['place'], asked: readonly AskedClaims[]): Promise<LearnedClaims | null>;
  /**
   * What on the route reads the paths of requests, such as `rewrite rules[0] path_prefix /old/`; null: nothing does.
   */
  pathReader(place: Asked['place']): string | null;
  /** Ref of a resource. */
  ref(id: string): JsonObject;
  /** Milliseconds of a time in RFC 3339; throws the API's error about this query parameter. */
  time(parameter: string, text: string): number;
}
