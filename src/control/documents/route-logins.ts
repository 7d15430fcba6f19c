import type { JsonObject } from '../../kit/json.ts';
import { readOrNull } from '../../kit/read-or-null.ts';
import { type FieldProblem, pointerTo } from '../../kit/schema/field-problem.ts';
import type { Module } from '../../modules/contract/module.ts';
import type { AskedClaims, LearningClient } from '../../modules/contract/prepare.ts';
import { moduleOfRoute, moduleRecordKey } from '../../modules/module-config.ts';
import { type ModuleSettings, settingsOf } from '../../modules/module-settings.ts';
import type { RecordReader } from '../../store/replica/record-table.ts';
import type { Replica } from '../../store/replica/replica.ts';
import type { Expectation, HistoryItem, RecordKey } from '../../store/store.ts';
import { type CompiledModule, type DocumentForm, ownerIdOf } from './catalog.ts';
import type { DocumentsContext } from './documents-context.ts';
import { invalidBody } from './errors.ts';
import type { ModuleParts } from './record-puts.ts';

interface RoutePlace {
  readonly edgeId: string;
  readonly routeId: string;
}

/** The login client of a route. Absent `asked`: the claims that its stored rules read. Null: nobody logs in there. */
export type RouteLogins = (place: RoutePlace, asked?: readonly AskedClaims[]) => LearningClient | null;

interface RouteLoginSources {
  readonly modules: readonly Module[];
  readonly replica: Pick<Replica, 'get'>;
  readonly moduleSettings: ModuleSettings;
}

export function routeLogins({ modules, replica, moduleSettings }: RouteLoginSources): RouteLogins {
  return ({ edgeId, routeId }, asked = askedOn(routeId, modules, replica)) => {
    for (const module of modules) {
      const config = module.learnsFrom === undefined ? null : enabledConfig(routeId, module, replica);
      if (config === null) continue;
      const settings = settingsOf(moduleSettings, module);
      // The route refuses, and says so.
      return readOrNull(() => module.learnsFrom?.(config, { edgeId, settings, asked }) ?? null);
    }
    return null;
  };
}

/** The claims that the rules of a route read. */
export function askedOn(
  routeId: string,
  modules: readonly Module[],
  replica: Pick<Replica, 'get'>,
): readonly AskedClaims[] {
  return modules.flatMap((module) => {
    const config = module.askedClaims === undefined ? null : enabledConfig(routeId, module, replica);
    return config === null ? [] : (readOrNull(() => module.askedClaims?.(config) ?? []) ?? []);
  });
}

function enabledConfig(routeId: string, { name }: Module, replica: Pick<Replica, 'get'>) {
  const config = moduleOfRoute(replica, routeId, name)?.doc ?? null;
  return config === null || config['enabled'] === false ? null : config;
}

/** A route has at most one enabled login module: it would not be clear at which of two to log in. */
export function secondLogin(modules: ReadonlyMap<CompiledModule, JsonObject>): readonly FieldProblem[] {
  const logins = [...modules].filter(([{ module }, config]) => isEnabledLogin(module, config));
  return logins.slice(1).map(([{ module }]) => problem(pointerTo('', module.name), logins[0]?.[0].module.name ?? ''));
}

/** The other login modules must stay absent or disabled while one is written. Throws when one is enabled. */
export function expectNoOtherLogin(
  { module, kind }: CompiledModule,
  { ownerId, config, at }: ModuleParts,
  { catalog, replica }: Pick<DocumentsContext, 'catalog' | 'replica'>,
): readonly Expectation[] {
  if (!isEnabledLogin(module, config)) return [];
  const ownerKind = kind.slice(0, -module.name.length - 1);
  const others = catalog.modules.filter(({ isLogin, name }) => isLogin === true && name !== module.name);
  return others.map(({ name }) => {
    const key = moduleRecordKey(ownerKind, ownerId, name);
    const record = replica.get(key.kind, key.id);
    if (record !== undefined && record.doc['enabled'] !== false) throw invalidBody([problem(at, name)]);
    return { ...key, revision: record?.revision ?? 'absent' };
  });
}

function isEnabledLogin({ isLogin }: Module, config: JsonObject): boolean {
  return isLogin === true && config['enabled'] !== false;
}

function problem(path: string, other: string): FieldProblem {
  return {
    path: path === '' ? '/enabled' : path,
    message: `cannot be enabled together with the ${other} module, because a route has one login: delete or disable ${other} first`,
  };
}

interface OtherLogins {
  /** Enabled now, and not part of what is restored: with a restored login, the route would have two. */
  readonly enabled: readonly RecordKey[];
  /** The others must stay absent or disabled. */
  readonly expect: readonly Expectation[];
}

/** The login modules beside those that are restored, on the same routes. */
export function otherLogins(
  restored: readonly (DocumentForm & { readonly item: HistoryItem })[],
  changedIds: ReadonlySet<string>,
  reader: RecordReader,
): OtherLogins {
  const enabled = new Map<string, RecordKey>();
  const expect = new Map<string, Expectation>();
  for (const { module, owner, item } of restored) {
    if (module?.module.isLogin !== true || item.before?.doc['enabled'] === false) continue;
    for (const other of owner.modules) {
      const key = other.keyOn(ownerIdOf(item.id));
      if (other.module.isLogin !== true || changedIds.has(key.id)) continue;
      const record = reader.get(key.kind, key.id);
      expect.set(key.id, { ...key, revision: record?.revision ?? 'absent' });
      if (record !== undefined && record.doc['enabled'] !== false) enabled.set(key.id, key);
    }
  }
  return { enabled: [...enabled.values()], expect: [...expect.values()] };
}
