import { type Finding, findingsOf } from '../../checks/check.ts';
import { store as storeCheck } from '../../checks/nodes.ts';
import type { HttpsEdge } from '../../client/generated/https-edges.ts';
import type { Node } from '../../client/generated/nodes.ts';
import { Resources } from '../../client/generated/resources.ts';
import type { TunnelSession } from '../../client/generated/tunnel-sessions.ts';
import type { Tunnel } from '../../client/generated/tunnels.ts';
import { PosternApiError } from '../../client/postern-api-error.ts';
import type { Transport } from '../../client/transport.ts';
import { serverFindings } from '../doctor/server-findings.ts';
import { type ExpiringCertificate, expiringCertificates } from './expiring-certificates.ts';
import { healthOf, type ServerHealth } from './server-health.ts';

/** Everything on the screen. A part that the key may not read is null. */
export interface Status {
  readonly health: ServerHealth;
  readonly nodes: readonly Node[] | null;
  readonly edges: readonly HttpsEdge[] | null;
  readonly agents: readonly TunnelSession[] | null;
  readonly tunnels: readonly Tunnel[] | null;
  readonly expiring: readonly ExpiringCertificate[];
  /** Without those that are fine. */
  readonly findings: readonly Finding[];
  /** Checks that the key may not read the results of. */
  readonly skipped: readonly string[];
}

export async function readStatus(transport: Transport, nowMs: number): Promise<Status> {
  const resources = new Resources(transport);
  const health = await healthOf(transport);
  const [nodes, edges, agents, tunnels, managed, uploaded] = await Promise.all([
    allowed(() => Array.fromAsync(resources.nodes.list())),
    allowed(() => Array.fromAsync(resources.httpsEdges.list())),
    allowed(() => Array.fromAsync(resources.tunnelSessions.list())),
    allowed(() => Array.fromAsync(resources.tunnels.list())),
    allowed(() => Array.fromAsync(resources.managedCertificates.list())),
    allowed(() => Array.fromAsync(resources.tlsCertificates.list())),
  ]);
  const told = await serverFindings(transport);
  return {
    health,
    nodes,
    edges,
    agents,
    tunnels,
    expiring: expiringCertificates({ managed: managed ?? [], uploaded: uploaded ?? [], nowMs }),
    findings: [
      ...healthFindings(health, told.findings),
      ...told.findings.filter(({ level }) => level === 'problem' || level === 'warning'),
    ],
    skipped: told.skipped,
  };
}

/** Null when the key lacks the scope: the rest is shown anyway. */
async function allowed<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof PosternApiError && error.status === 403) return null;
    throw error;
  }
}

/** The server's own list says why its store does not work. */
function healthFindings({ status, store }: ServerHealth, told: readonly Finding[]): readonly Finding[] {
  const found = findingsOf('server');
  if (told.some(({ check }) => check === storeCheck.name)) return found.list;
  if (status !== 'ready') found.problem(`the server is ${status}`, 'see its log, or run postern doctor');
  if (store !== null && store !== 'ok') found.problem(`the store is ${store}`, 'see the log of the server');
  return found.list;
}
