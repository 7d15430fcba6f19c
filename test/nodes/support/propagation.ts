import assert from 'node:assert/strict';
import type { NodeProcess } from './node-processes.ts';

/** Far beyond any machine: the poll alone takes two seconds. */
const DEADLINE_MS = 60_000;
const HOST = 'news.localhost';
const FORM = {
  'content-type': 'application/x-www-form-urlencoded',
  origin: 'null',
  'sec-fetch-site': 'same-origin',
};

/** A site that all nodes serve: a fixed response, and one for guests. */
export interface NewsSite {
  readonly nodes: readonly NodeProcess[];
  readonly backendId: string;
  readonly link: { readonly id: string; readonly secret: string };
}

export async function createNewsSite(nodes: readonly NodeProcess[]): Promise<NewsSite> {
  const [first] = nodes as readonly [NodeProcess];
  const create = async (method: string, path: string, body: object): Promise<{ id: string; url: string }> => {
    const { status, body: made } = await first.api.send(method, path, body);
    assert.ok(status < 300, `${method} ${path}: ${JSON.stringify(made)}`);
    return made as { id: string; url: string };
  };
  const { id: backendId } = await create('POST', '/backends/http_response', { body: 'start' });
  const { id: edgeId } = await create('POST', '/edges/https', { hostports: [`${HOST}:443`] });
  const routes = `/edges/https/${edgeId}/routes`;
  const open = await create('POST', routes, { match_type: 'exact_path', match: '/open' });
  const guarded = await create('POST', routes, { match_type: 'path_prefix', match: '/' });
  for (const { id } of [open, guarded]) await create('PUT', `${routes}/${id}/backend`, { backend_id: backendId });
  await create('PUT', `${routes}/${guarded.id}/access`, { allow: [{ guests: true }] });
  const link = await create('POST', '/guest_links', {
    edge_id: edgeId,
    route_id: guarded.id,
    max_browsers: 1000,
    expires_at: new Date(Date.now() + 86_400_000).toISOString(),
  });
  const site = { nodes, backendId, link: { id: link.id, secret: new URL(link.url).searchParams.get('link') ?? '' } };
  await untilServed(site, 'start');
  return site;
}

/** Milliseconds from the answer to a write at one node until the slowest of the others serves it. */
export async function measureConfiguration(site: NewsSite, writes: number): Promise<readonly number[]> {
  const times: number[] = [];
  for (let at = 0; at < writes; at += 1) {
    const writer = site.nodes[at % site.nodes.length] as NodeProcess;
    const body = `write ${at}`;
    const { status } = await writer.api.send('PATCH', `/backends/http_response/${site.backendId}`, { body });
    assert.equal(status, 200);
    const startMs = performance.now();
    await untilServed(site, body);
    times.push(performance.now() - startMs);
  }
  return times;
}

/** The same for the end of a login that all nodes have in memory. */
export async function measureRevocation(site: NewsSite, revocations: number): Promise<readonly number[]> {
  const times: number[] = [];
  for (let at = 0; at < revocations; at += 1) {
    const writer = site.nodes[at % site.nodes.length] as NodeProcess;
    const cookie = await redeem(writer, site.link.secret);
    for (const node of site.nodes) assert.equal((await node.ask(HOST, { headers: { cookie } })).status, 200);
    const { body } = await writer.api.send('GET', '/app/sessions?limit=1');
    const [session] = (body as unknown as { application_sessions: { id: string }[] }).application_sessions;
    const { status } = await writer.api.send('DELETE', `/app/sessions/${session?.id}`);
    assert.equal(status, 204);
    const startMs = performance.now();
    await Promise.all(
      site.nodes.map((node) => until(async () => (await node.ask(HOST, { headers: { cookie } })).status !== 200)),
    );
    times.push(performance.now() - startMs);
  }
  return times;
}

export function percentile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

async function untilServed({ nodes }: Pick<NewsSite, 'nodes'>, body: string): Promise<void> {
  await Promise.all(nodes.map((node) => until(async () => (await node.ask(HOST, { path: '/open' })).text === body)));
}

async function redeem(node: NodeProcess, secret: string): Promise<string> {
  const body = `link=${encodeURIComponent(secret)}`;
  const answer = await node.ask(HOST, { method: 'POST', path: '/.postern/guest', headers: FORM, body });
  assert.equal(answer.status, 303, answer.text);
  return answer.cookies.join('; ');
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!(await isTrue())) assert.ok(performance.now() < deadline, 'it did not happen');
}
