import Type, { type TObject } from 'typebox';
import { type EdgeKind, edgeRecordKindOf, routeRecordKindOf } from '../../edges/edge-kind.ts';
import { isRouted, isStored, type RoutedEdgeKind, type StoredEdgeKind } from '../../edges/record-kinds.ts';
import { bodyProblem } from '../../kit/schema/decode-body.ts';
import type { FieldProblem } from '../../kit/schema/field-problem.ts';
import { type ConfigurationResource, defineResource, describedFields, type ResourceSettings } from './resource.ts';

/** Every kind of edge as nouns of the API: the edge, and its routes if it has any. Kinds of agents only have none. */
export function resourcesOfEdges(kinds: readonly EdgeKind[]): readonly ConfigurationResource<TObject, unknown>[] {
  return kinds
    .filter(isStored)
    .flatMap((kind) => (isRouted(kind) ? [edgeResource(kind), routeResource(kind)] : [edgeResource(kind)]));
}

function edgeResource(kind: StoredEdgeKind): ConfigurationResource<TObject, unknown> {
  const { name, passes, owns, routes, api } = kind;
  const { idPrefix, title, description, example, otherNames, hostports: rules } = api;
  const recordKind = edgeRecordKindOf(kind);
  return defineResource({
    ...{ idPrefix, title, description, example, passes },
    name: `${recordKind}s`,
    kind: recordKind,
    path: `/edges/${name}`,
    listKey: `${recordKind}s`,
    eventNoun: recordKind,
    hasTraffic: true,
    ...(owns === 'names' && { hasHostNames: true }),
    ...(routes !== null && { inlineChildren: [routeRecordKindOf(kind)] }),
    ...(otherNames !== undefined && { otherNames }),
    config: Type.Object({
      ...describedFields,
      hostports: Type.Array(Type.String({ maxLength: 260 }), {
        default: [],
        maxItems: 1000,
        description: rules.description,
      }),
    }),
    normalize: (config) => ({ ...config, hostports: config.hostports.map(rules.normalize) }),
    check: ({ hostports }, settings) => hostportProblems(hostports, api.hostports, settings),
    conflict: ({ hostports }, previous, settings) => {
      const before = new Set(previous?.hostports.map(rules.keyOf));
      const added = hostports.map(rules.keyOf).filter((key) => !before.has(key));
      const problem = added.map((key) => rules.conflict(key, settings)).find((found) => found !== null);
      return problem === undefined ? null : `"hostports" includes ${problem}`;
    },
    uniqueKeys: ({ hostports }) =>
      [...new Set(hostports.map(rules.keyOf))].map((key) => ({ scope: rules.scope, key, field: 'hostports' })),
  });
}

function hostportProblems(
  hostports: readonly string[],
  rules: StoredEdgeKind['api']['hostports'],
  settings: ResourceSettings,
): readonly FieldProblem[] {
  const wrong = hostports.map((hostport) => rules.problem(hostport, settings)).find((problem) => problem !== null);
  if (wrong !== undefined) return [bodyProblem('hostports', wrong)];
  const repeated = hostports.find((hostport, index) => hostports.indexOf(hostport) !== index);
  return repeated === undefined ? [] : [bodyProblem('hostports', `lists "${repeated}" twice: list each one once`)];
}

function routeResource(kind: RoutedEdgeKind): ConfigurationResource<TObject, unknown> {
  const { name, routes } = kind;
  const { idPrefix, title, description, example, otherNames, passes } = routes;
  const recordKind = routeRecordKindOf(kind);
  return defineResource({
    ...{ idPrefix, title, description, example, passes },
    name: `${recordKind}s`,
    kind: recordKind,
    path: `/edges/${name}/{edge_id}/routes`,
    listKey: 'routes',
    eventNoun: recordKind,
    parent: { kind: edgeRecordKindOf(kind), param: 'edge_id' },
    ...(otherNames !== undefined && { otherNames }),
    config: Type.Object({ ...describedFields, ...routes.config.properties }) as TObject,
    check: (config) => routes.check(config),
    uniqueKeys: (config, { parent }) => [
      { scope: 'route_match', key: `${parent}\n${routes.keyOf(config)}`, field: routes.keyField },
    ],
  });
}
