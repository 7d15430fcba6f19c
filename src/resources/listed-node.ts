export interface ListedNode {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly roles: readonly string[];
  readonly region: string;
  readonly status: 'ready' | 'draining' | 'lost';
  readonly startedAtMs: number;
  readonly lastSeenAtMs: number;
  readonly peerAddress: string | null;
  readonly agents: number;
  readonly tunnels: number;
  readonly problems: readonly string[];
}
