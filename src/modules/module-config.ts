import { edgeRecordKindOf, type Passing, routeRecordKindOf } from '../edges/edge-kind.ts';
import { routedEdgeKinds, routeRecordKinds } from '../edges/record-kinds.ts';
import type { JsonObject } from '../kit/json.ts';
import { MissingPart } from '../kit/load-part.ts';
import type { FieldProblem } from '../kit/schema/field-problem.ts';
import { withDefaults } from '../kit/schema/with-defaults.ts';
import type { CheckContext, Module, SealContext, Sealed } from './contract/module.ts';

/** The rules of a module that its schema cannot express. Throws MissingPart. */
export function moduleProblems(module: Module, config: JsonObject, context: CheckContext): readonly FieldProblem[] {
  const loaded = module.load?.(config as never) ?? null;
  if (loaded !== null) throw new MissingPart(loaded);
  return module.check?.(config as never, context) ?? [];
}

/** What is stored of a checked configuration: hashes in place of secrets. Throws MissingPart. */
export function sealed(module: Module, config: JsonObject, context: SealContext<JsonObject>): Sealed<JsonObject> {
  return (module.seal?.(config as never, context as never) as Sealed<JsonObject> | undefined) ?? { config };
}

/** The form of a checked configuration that is stored and shown. */
export function normalized(module: Module, config: JsonObject): JsonObject {
  return (module.normalize?.(config as never) ?? config) as JsonObject;
}

/** What declares whether it reads paths: a module or a kind of backend. */
interface DeclaresPathReading {
  readonly name: string;
  readonly readsPath: false | ((config: never) => string | null);
}

/**
 * What of a configuration reads paths, with the module's name; null: nothing. What fails to say so counts as a reader.
 */
export function pathReaderOf({ name, readsPath }: DeclaresPathReading, config: unknown): string | null {
  if (readsPath === false) return null;
  try {
    const what = readsPath(config as never);
    return what === null ? null : `${name} ${what}`;
  } catch {
    return name;
  }
}

/** What of the stored modules of a route and its edge reads paths; null: nothing. */
export function storedPathReader(
  modules: readonly Module[],
  { edgeId, routeId }: { readonly edgeId: string; readonly routeId: string },
  get: (kind: string, id: string) => JsonObject | undefined,
): string | null {
  for (const module of modules) {
    for (const edges of routedEdgeKinds) {
      const isOfEdge = worksWhere(module, edges.passes);
      const { kind, id } = isOfEdge
        ? moduleRecordKey(edgeRecordKindOf(edges), edgeId, module.name)
        : moduleRecordKey(routeRecordKindOf(edges), routeId, module.name);
      const stored = get(kind, id);
      if (stored === undefined || stored['enabled'] === false) continue;
      const reader = pathReaderOf(module, withDefaults(module.config, stored));
      if (reader !== null) return reader;
    }
  }
  return null;
}

/** Whether a module can be set where this passes. */
export function worksWhere({ on }: Pick<Module, 'on'>, passes: readonly Passing[]): boolean {
  return on.some((each) => passes.includes(each));
}

/** The record of a module of a route; undefined: the route has none. */
export function moduleOfRoute<Found>(
  reader: { get(kind: string, id: string): Found | undefined },
  routeId: string,
  moduleName: string,
): Found | undefined {
  for (const routeKind of routeRecordKinds) {
    const { kind, id } = moduleRecordKey(routeKind, routeId, moduleName);
    const found = reader.get(kind, id);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The records of a module of all routes. */
export function* moduleOfRoutes<Found>(
  replica: { all(kind: string): Iterable<Found> },
  moduleName: string,
): Generator<Found> {
  for (const routeKind of routeRecordKinds) yield* replica.all(moduleRecordKey(routeKind, '', moduleName).kind);
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
