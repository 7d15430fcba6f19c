import { EdgeClients } from './edge-clients.ts';

export interface Site {
  readonly host: string;
  readonly edgeId: string;
  readonly routeId: string;
  /** Paths of the edge and of the route in the API. */
  readonly edgePath: string;
  readonly routePath: string;
}

let siteCount = 0;

/** Makes edges, routes and backends through the API, and has clients for them. */
export abstract class EdgeSites extends EdgeClients {
  /** Calls the API, and fails unless it succeeds. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers field by field
  abstract api(method: string, path: string, body?: unknown): Promise<any>;

  async edge(...hosts: readonly string[]): Promise<string> {
    const { id } = await this.api('POST', '/edges/https', { hostports: hosts.map((host) => `${host}:443`) });
    return id;
  }

  async route(edgeId: string, match: string, matchType = 'path_prefix'): Promise<string> {
    const { id } = await this.api('POST', `/edges/https/${edgeId}/routes`, { match, match_type: matchType });
    return `/edges/https/${edgeId}/routes/${id}`;
  }

  async staticBackend(address: string, tls = false): Promise<string> {
    const { id } = await this.api('POST', '/backends/static', { address, tls: { enabled: tls } });
    return id;
  }

  async httpResponse(body: string, fields: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const { id } = await this.api('POST', '/backends/http_response', { body, ...fields });
    return id;
  }

  /** An edge with one catch-all route; the test chooses its backend. */
  async site(backendId?: string, host = newHost()): Promise<Site> {
    const edgeId = await this.edge(host);
    const routePath = await this.route(edgeId, '/');
    if (backendId !== undefined) await this.api('PUT', `${routePath}/backend`, { backend_id: backendId });
    const routeId = routePath.slice(routePath.lastIndexOf('/') + 1);
    return { host, edgeId, routeId, edgePath: `/edges/https/${edgeId}`, routePath };
  }

  /** A policy with one rule. */
  async ipPolicy(action: 'allow' | 'deny', cidr: string): Promise<{ policyId: string; ruleId: string }> {
    const { id: policyId } = await this.api('POST', '/ip_policies', {});
    const { id: ruleId } = await this.api('POST', '/ip_policy_rules', { ip_policy_id: policyId, action, cidr });
    return { policyId, ruleId };
  }
}

/** A host that no other test of the process uses. */
export function newHost(): string {
  siteCount += 1;
  return `site-${siteCount}.localhost`;
}
