import { Resources } from '../../client/generated/resources.ts';
import type { Transport } from '../../client/transport.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Current, EdgePlan } from '../../publish/plan-edge.ts';
import type { WantedEdge } from '../../publish/wanted-edge.ts';

export interface Published {
  readonly revision: number;
  readonly results: readonly {
    readonly body: { readonly id?: string; readonly backend?: { readonly id: string } } | null;
  }[];
}

export interface Publishing {
  readonly message: string;
  readonly isDryRun: boolean;
  /** Who remembers what the change makes; absent: nobody. */
  readonly owner?: JsonObject;
}

/** Rules about addresses only for a command that names some: the key may not be allowed to read them. */
export async function readCurrent(
  transport: Transport,
  { addresses = [] }: Pick<WantedEdge, 'addresses'> = {},
): Promise<Current> {
  const resources = new Resources(transport);
  const [edges, backends] = await Promise.all([
    Array.fromAsync(resources.httpsEdges.list()),
    Array.fromAsync(resources.staticBackends.list()),
  ]);
  if (addresses.length === 0) return { edges, backends };
  const [rules, lists] = await Promise.all([
    Array.fromAsync(resources.ipPolicyRules.list()),
    Array.fromAsync(resources.ipPolicyLists.list()),
  ]);
  return { edges, backends, addresses: { rules, withLists: lists.map((list) => list.ip_policy.id) } };
}

/** All operations of the plan in one change. */
export async function publishEdge(
  transport: Transport,
  { operations }: Pick<EdgePlan, 'operations'>,
  { message, isDryRun, owner }: Publishing,
): Promise<Published> {
  const body = { operations, dry_run: isDryRun, message, ...(owner !== undefined && { owner }) };
  const { text } = await transport.send({ method: 'POST', path: '/changesets', body });
  return JSON.parse(text) as Published;
}
