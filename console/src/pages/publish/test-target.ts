import { readTarget } from '../../../../src/client/publish/wanted-edge.ts';
import { asApiError } from '../../api/api-error.ts';
import { get, request } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import type { Document } from '../../api/use-pages.ts';
import { type Draft, labelsIn } from './draft.ts';

export interface TargetTest {
  readonly isReachable: boolean;
  /** A sentence. */
  readonly text: string;
}

/** Whether requests would arrive; null: there is nothing to test, or the scopes do not allow it. */
export async function testTarget(draft: Draft): Promise<TargetTest | null> {
  try {
    if (draft.target === 'address') return await testAddress(draft.address.trim());
    return draft.target === 'agents' ? await testAgents(draft.labels) : null;
  } catch (error) {
    return { isReachable: false, text: `It could not be tested: ${asApiError(error).message}` };
  }
}

async function testAddress(text: string): Promise<TargetTest | null> {
  const target = readTarget(text);
  if (target === null || !isAllowed('backends:write')) return null;
  const { address, hasTls } = target;
  const { data } = await request<{ reachable: boolean; advice: string | null }>('POST', '/backends/test', {
    body: { address, tls: hasTls },
  });
  return data.reachable
    ? { isReachable: true, text: `${address} is reachable.` }
    : { isReachable: false, text: `${address} is not reachable now: ${data.advice ?? ''}.` };
}

async function testAgents(text: string): Promise<TargetTest | null> {
  const labels = labelsIn(text);
  if (labels === null || !isAllowed('tunnels:read')) return null;
  const members = (await labelledTunnels()).filter((tunnel) => {
    const own = (tunnel['labels'] ?? {}) as Record<string, unknown>;
    return Object.entries(labels).every(([name, value]) => own[name] === value);
  });
  return members.length > 0
    ? {
        isReachable: true,
        text: `${members.length} ${members.length === 1 ? 'tunnel' : 'tunnels'} with these labels connected.`,
      }
    : { isReachable: false, text: 'No agent with these labels is connected now.' };
}

export async function labelledTunnels(abort?: AbortSignal): Promise<readonly Document[]> {
  if (!isAllowed('tunnels:read')) return [];
  const { tunnels } = await get<{ tunnels: readonly Document[] }>('/tunnels?limit=100', abort);
  return tunnels.filter(({ labels }) => labels !== undefined && labels !== null);
}

/** The command that connects an agent. */
export function agentCommand(text: string): string {
  const labels = Object.entries(labelsIn(text) ?? { app: 'shop' });
  return `postern tunnel ${labels.map(([name, value]) => `--label ${name}=${value}`).join(' ')} 3000`;
}
