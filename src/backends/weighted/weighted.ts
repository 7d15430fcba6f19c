import Type from 'typebox';
import { mapOf, reference } from '../../kit/schema/annotations.ts';
import { bodyProblem } from '../../kit/schema/decode-body.ts';
import { type BackendSnapshot, defineBackend, type Target, type TargetPorts } from '../backend.ts';

/** One member per request, by its share of the weights. A member that is gone has no share. */
function weightedTargets<Upstream>(
  { config, members }: BackendSnapshot<{ readonly backends: Readonly<Record<string, number>> }>,
  ports: TargetPorts<Upstream>,
): readonly Target<Upstream>[] {
  const shares = [...members].map(([id, member]): [BackendSnapshot, number] => [member, config.backends[id] ?? 0]);
  let left = ports.random() * shares.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [member, weight] of shares) {
    if (left < weight) return ports.targetsOf(member);
    left -= weight;
  }
  return [];
}

/** Distributes requests by weight. */
export const weighted = defineBackend({
  name: 'weighted',
  idPrefix: 'bkdwd',
  title: 'a weighted backend',
  readsPath: false,
  description: 'Distributes requests over other backends by weight.',
  config: (anyBackend) =>
    Type.Object({
      backends: reference(
        { kinds: anyBackend, inKeys: true },
        mapOf(Type.Integer({ minimum: 0, maximum: 10_000 }), {
          minProperties: 1,
          maxProperties: 100,
          description:
            'Map of backend id to weight. A weight is a whole number from 0 to 10000. The map has 1 to 100 backends, at least one with a weight above 0.',
        }),
      ),
    }),
  example: { backends: { bkdsc_2zXAMPLEbackendOfTheDocsAAA: 90, bkdsc_2zXAMPLEbackendOfTheDocsAAB: 10 } },
  check: (config) =>
    Object.values(config.backends).some((weight) => weight > 0)
      ? []
      : [bodyProblem('backends', 'must give at least one backend a weight above 0')],
  memberIds: (config) => Object.keys(config.backends),
  targets: weightedTargets,
});
