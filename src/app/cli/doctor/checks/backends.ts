import { isIP } from 'node:net';
import type { StaticBackend } from '../../../../client/generated/static-backends.ts';
import { FORBIDDEN_ADVICE, forbiddenLine } from '../../../../control/findings/subjects/routes.ts';
import { type Finding, findingTable } from '../../../../kit/findings.ts';
import { splitAddress } from '../../../../kit/net/host-name.ts';
import { upstreamGuard } from '../../../../proxy/upstream/upstream-guard.ts';
import { dialProblem, mapConcurrently } from '../dial.ts';
import type { Installation } from '../installation.ts';

const MAX_BACKENDS = 500;

interface At {
  readonly id: string;
  readonly address: string;
}

const { found, ok } = findingTable('backends', {
  upstreams_elsewhere: {
    level: 'hint',
    text: 'upstreams are checked only from the machine of the server: run this command there',
  },
  backend_forbidden: {
    level: 'problem',
    text: ({ id, address }: At) => `${id} ${address}: ${forbiddenLine(address)}`,
    advice: FORBIDDEN_ADVICE.metadata,
  },
  backend_unreachable: {
    level: 'warning',
    text: ({ id, address, problem }: At & { readonly problem: string }) =>
      `${id} ${address} cannot be reached: ${problem}`,
    advice: 'start the service that should listen there, or correct the address',
  },
  backends_unchecked: {
    level: 'hint',
    text: ({ count }: { readonly count: number }) => `${count} more were not checked`,
  },
});

/** Whether each upstream accepts a connection. A service may be down temporarily. */
export async function checkBackends(
  { isLocal, config }: Installation,
  backends: readonly StaticBackend[],
): Promise<readonly Finding[]> {
  if (!isLocal) return backends.length === 0 ? [] : [found('upstreams_elsewhere', null)];
  const isAllowed = upstreamGuard(config.upstream_allow_cidrs, { has: () => false });
  const findings: Finding[] = [];
  await mapConcurrently(backends.slice(0, MAX_BACKENDS), async ({ id, address }) => {
    const { host, port } = splitAddress(address);
    // The server reports its own addresses, which it knows better.
    if (isIP(host) !== 0 && !isAllowed(host, port)) {
      findings.push(found('backend_forbidden', { id, address }));
      return;
    }
    const problem = await dialProblem({ host, port });
    findings.push(
      problem === null ? ok(`${id} ${address} is open`) : found('backend_unreachable', { id, address, problem }),
    );
  });
  const unchecked = backends.length - MAX_BACKENDS;
  return unchecked > 0 ? [...findings, found('backends_unchecked', { count: unchecked })] : findings;
}
