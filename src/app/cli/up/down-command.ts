import { PosternApiError } from '../../../client/call-errors.ts';
import { queryString } from '../../../client/fill-path.ts';
import type { Current } from '../../../client/publish/plan-edge.ts';
import { SITE_EDGE, siteEdgePath } from '../../../client/sites.ts';
import type { Transport } from '../../../client/transport.ts';
import { usage } from '../../../kit/flags.ts';
import { hostOf } from '../../../kit/net/host-name.ts';
import { runWithApi } from '../api/api-access.ts';
import {
  API_EXIT_CODES,
  type Command,
  type CommandContext,
  type CommandSyntax,
  parseCommand,
  SETTINGS_EXIT_CODE,
} from '../command.ts';
import { parseSite } from '../edge/edge-arguments.ts';
import { printPlanLines, publishEdge, readCurrent } from '../edge/edge-command.ts';
import { printable } from '../output/cell-text.ts';
import { settingsGroup } from '../server-settings.ts';
import { API_KEY_FILE } from '../shared-flags.ts';
import { upFailed } from './errors.ts';
import { BACKEND_CLAIM, POLICY_CLAIM, UP_OWNER } from './publish-site.ts';
import { isRunning, openServer, serverUrl } from './reach-server.ts';
import { findSettings, loadSettings } from './up-settings.ts';
import type { UpPorts } from './wanted-up.ts';

const SYNTAX: CommandSyntax = {
  name: 'down',
  usage: ['HOST'],
  hasOperands: true,
  completedBy: [SITE_EDGE.kind],
  about:
    'Removes what "postern up HOST" made, in one change: the edge, the route and the backend. What somebody else made or uses stays, and so do the server, its settings and its data. "postern undo REVISION" undoes it.',
  flags: [API_KEY_FILE],
  groups: [settingsGroup('to find the server')],
  examples: ['sudo postern down app.example.com'],
  exitCodes: { ...API_EXIT_CODES, 0: 'removed', 1: 'there is nothing that postern up made', ...SETTINGS_EXIT_CODE },
};

interface Claim {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
}

/** One resource to delete. */
interface Removal {
  readonly id: string;
  readonly path: string;
  readonly line: string;
  /** Whether others may use it, so that it stays then. */
  readonly isShared: boolean;
}

/** Takes a host back that `postern up` published. */
export function createDownCommand(ports: UpPorts): Command {
  return {
    syntax: SYNTAX,
    run: (args, context) => {
      const parsed = parseCommand(SYNTAX, args);
      const { host, path } = parseSite(parsed.positionals, 'down');
      if (path !== '/') throw usage('postern down takes a host without a path: postern down app.example.com');
      return runWithApi(context, async () => {
        const place = findSettings(parsed.flags, context, ports.service);
        const { config: _, ...given } = Object.fromEntries(parsed.flags);
        const loaded = loadSettings(place, place.text, new Map(Object.entries(given)));
        if (!(await isRunning({ loaded, ports })))
          throw upFailed(
            `no server answers at ${serverUrl(loaded)}: start it first, because it holds what "postern up" made. If it listens elsewhere, name that with --api-listen`,
          );
        const transport = await openServer({ place, loaded, flags: parsed.flags, context, ports });
        return takeDown(transport, { host, url: serverUrl(loaded) }, context);
      });
    },
  };
}

async function takeDown(
  transport: Transport,
  { host, url }: { readonly host: string; readonly url: string },
  context: CommandContext,
): Promise<number> {
  const { text } = await transport.send({
    method: 'GET',
    path: `/changesets/claims${queryString({ owner: UP_OWNER })}`,
  });
  const { claims } = JSON.parse(text) as { readonly claims: readonly Claim[] };
  const current = await readCurrent(transport, { target: { kind: 'folder', folder: '' } });
  const { edges } = current;
  const removals = removalsOf(host, claims, current);
  if (removals.length === 0) {
    const isThere = edges.some(({ hostports }) => hostports.some((each) => hostOf(each) === host));
    throw upFailed(
      `postern up has not published ${host} on the server at ${url}. ${isThere ? `Somebody else made its edge. Delete that with: postern api https-edges delete ${host}` : 'Nothing serves it'}`,
    );
  }
  const { kept, revision } = await remove(transport, host, removals);
  const removed = removals.filter(({ id }) => !kept.has(id));
  printPlanLines({ lines: removed.map(({ line }) => line) }, context);
  for (const { line } of removals.filter(({ id }) => kept.has(id)))
    context.print(`= ${printable(line.slice(2))} is used elsewhere, and stays`);
  const edge = edges.find(({ hostports }) => hostports.some((each) => hostOf(each) === host));
  if (edge !== undefined && !removals.some(({ id }) => id === edge.id))
    context.print(`= edge ${edge.hostports.join(', ')} stays: it has other routes or hosts, or somebody else made it`);
  context.print(`${host} is no longer published. "postern undo ${revision}" takes this back`);
  return 0;
}

/** The edge goes with its route, unless somebody added to it. */
function removalsOf(
  host: string,
  claims: readonly Claim[],
  { edges, backends: all, folders = [] }: Current,
): readonly Removal[] {
  const own = claims.filter(({ name }) => name === host || name.startsWith(`${host}/`));
  const ofHost = (id: string): boolean => own.some((claim) => claim.id === id);
  const removals: Removal[] = [];
  const backends = new Set(own.filter(({ name }) => name.endsWith(BACKEND_CLAIM)).map(({ id }) => id));
  for (const edge of edges) {
    const routes = edge.routes.filter(({ id }) => ofHost(id));
    for (const route of routes) if (route.backend !== null) backends.add(route.backend.backend.id);
    const isWhole = edge.hostports.length === 1 && routes.length === edge.routes.length;
    const base = siteEdgePath(edge.id);
    if (ofHost(edge.id) && isWhole)
      removals.push({ id: edge.id, path: base, line: `- edge ${edge.hostports.join(', ')}`, isShared: false });
    else
      for (const { id, match } of routes)
        removals.push({ id, path: `${base}/routes/${id}`, line: `- route ${host}${match}`, isShared: false });
  }
  for (const id of backends) {
    // Another host of postern up may have made it.
    if (claims.some((claim) => claim.id === id)) {
      const folder = folders.find((each) => each.id === id);
      removals.push({
        ...{ id, path: `/backends/${folder === undefined ? 'static' : 'files'}/${id}`, isShared: true },
        line: `- backend ${folder?.folder ?? all.find((each) => each.id === id)?.address ?? id}`,
      });
    }
  }
  for (const { id, name } of own)
    if (name.endsWith(POLICY_CLAIM))
      removals.push({ id, path: `/ip_policies/${id}`, line: `- address rules of ${host}`, isShared: true });
  return removals;
}

interface Removed {
  /** The ids of what stays, because others use it. */
  readonly kept: ReadonlySet<string>;
  readonly revision: number;
}

async function remove(transport: Transport, host: string, removals: readonly Removal[]): Promise<Removed> {
  const kept = new Set<string>();
  for (;;) {
    const going = removals.filter(({ id }) => !kept.has(id));
    const operations = going.map(({ path }) => ({ method: 'DELETE' as const, path }));
    try {
      const plan = { message: `postern down ${host}`, isDryRun: false };
      return { kept, revision: (await publishEdge(transport, { operations }, plan)).revision };
    } catch (error) {
      const used = error instanceof PosternApiError ? going[Number(error.details['operation'] ?? -1)] : undefined;
      if (used?.isShared !== true || (error as PosternApiError).code !== 'ERR_POSTERN_IN_USE') throw error;
      kept.add(used.id);
    }
  }
}
