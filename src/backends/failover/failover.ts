import Type from 'typebox';
import { idString, reference } from '../../kit/schema/annotations.ts';
import { bodyProblem } from '../../kit/schema/decode-body.ts';
import { type BackendSnapshot, defineBackend, type Target, type TargetPorts } from '../backend.ts';

/** Members in order; the edge tries the next one only when a member cannot be reached. */
function failoverTargets<Upstream>(
  { config, members }: BackendSnapshot<{ readonly backends: readonly string[] }>,
  ports: TargetPorts<Upstream>,
): readonly Target<Upstream>[] {
  return config.backends.flatMap((id) => {
    const member = members.get(id);
    return member === undefined ? [] : ports.targetsOf(member);
  });
}

/** Tries the next backend when one cannot be reached. */
export const failover = defineBackend({
  name: 'failover',
  idPrefix: 'bkdfo',
  title: 'a failover backend',
  readsPath: false,
  description:
    'Forwards requests to the first backend that can be reached. A response with an error status is final: it does not cause a failover.',
  config: (anyBackend) =>
    Type.Object({
      backends: reference(
        { kinds: anyBackend },
        Type.Array(idString('Id of a backend.'), {
          minItems: 1,
          maxItems: 100,
          description: 'Ids of 1 to 100 distinct backends, in the order in which they are tried.',
        }),
      ),
    }),
  example: { backends: ['bkdsc_2zXAMPLEbackendOfTheDocsAAA', 'bkdsc_2zXAMPLEbackendOfTheDocsAAB'] },
  check: (config) => {
    const repeated = config.backends.find((id, index) => config.backends.indexOf(id) !== index);
    return repeated === undefined ? [] : [bodyProblem('backends', `lists ${repeated} twice: list each backend once`)];
  },
  memberIds: (config) => config.backends,
  targets: failoverTargets,
});
