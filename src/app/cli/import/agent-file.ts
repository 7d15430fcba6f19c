import type { JsonObject, JsonValue } from '../../../kit/json.ts';
import { yamlText } from '../../../kit/text/yaml/yaml-text.ts';
import { examineAgentConfig } from '../agent/config/read-agent-config.ts';
import { nameProblem } from '../agent/config/tunnel-rules.ts';
import { type ImportReport, isUnset } from './import-report.ts';

interface WrittenTunnel {
  readonly fields: JsonObject;
  readonly place: readonly string[];
  readonly source: SourceOfTunnel;
}

/** What an import knows about a tunnel in its source. */
export interface SourceOfTunnel {
  /**
   * The tunnel's host there, if it is not the domain of the tunnel, such as a subdomain of a server that is not known.
   */
  readonly host?: string | null;
  /** Tunnels of one host share it only in one group. */
  readonly group?: JsonValue;
}

/** The configuration file of an agent that an import makes. */
export class AgentFile {
  readonly #tunnels = new Map<string, WrittenTunnel>();
  readonly #top: Record<string, JsonValue> = {};
  readonly #report: ImportReport;
  /** Hosts of which a part was left out, with its name. */
  readonly #closed = new Map<string, string>();

  constructor(report: ImportReport) {
    this.#report = report;
  }

  get tunnelCount(): number {
    return this.#tunnels.size;
  }

  set(field: string, value: JsonValue): void {
    this.#top[field] = value;
  }

  /** Fields that are unset are left out. A tunnel that the agent would reject is reported instead. */
  add(wanted: string, fields: JsonObject, place: readonly string[], source: SourceOfTunnel = {}): void {
    const tunnel = Object.fromEntries(Object.entries(fields).filter(([, value]) => !isUnset(value as JsonValue)));
    const name = this.#freeName(wanted);
    const reading = examineAgentConfig(yamlText({ version: 2, tunnels: { [name]: tunnel } }), 'tunnel');
    if (reading.ok) this.#tunnels.set(name, { fields: tunnel as JsonObject, place, source });
    else {
      this.close(hostsOf({ fields: tunnel as JsonObject, place, source }), place);
      for (const problem of reading.problems)
        this.#report.drop(place, `the agent rejects it: ${problem.replace(/^tunnel:\d+: /, '')}`);
    }
  }

  /**
   * No tunnel of the file may serve these hosts: a part of them is not written, and a tunnel that took its place would
   * serve it to everybody. A host that ends with ".?" has a rest that is not known, and "?" may be any.
   */
  close(hosts: readonly string[], place: readonly string[]): void {
    for (const host of hosts) this.#closed.set(hostKey(host), place.join(' > '));
  }

  /** Leaves out the tunnels of hosts that are closed. Call it after the last tunnel was added. */
  leaveOutClosed(): void {
    const byHost = Map.groupBy(this.#tunnels.values(), (tunnel) => hostsOf(tunnel)[0]);
    for (const [name, tunnel] of this.#tunnels) {
      const { fields, place, source } = tunnel;
      const hosts = hostsOf(tunnel);
      const closed = Array.from(this.#closed).find(([each]) => hosts.some((own) => mayBeSame(own, each)));
      const same = byHost.get(hosts[0])?.filter(({ fields: other }) => other['proto'] === fields['proto']) ?? [];
      const isShared = same.every(({ source: other }) => !isUnset(other.group) && other.group === source.group);
      if (closed !== undefined) {
        this.#tunnels.delete(name);
        this.#report.drop(
          place,
          `not written, because ${closed[1]} is not, and this tunnel would serve ${closed[0]} in its place: protect both, then add them`,
        );
      } else if (hosts.length > 0 && same.length > 1 && !isShared) {
        this.#tunnels.delete(name);
        this.#report.drop(
          place,
          'not written, because another one has the same host, and the requests would be shared between them: add the one that you mean',
        );
      }
    }
  }

  text(origin: string, serverAddr: string | undefined): string {
    const address = serverAddr === undefined ? {} : { server_addr: serverAddr };
    if (serverAddr === undefined)
      this.#report.note('set server_addr in the file, or POSTERN_SERVER_ADDR: the address of your server');
    this.#report.note('set authtoken in the file, or POSTERN_AUTHTOKEN: postern api credentials create makes a token');
    const tunnels = Object.fromEntries(Array.from(this.#tunnels, ([name, { fields }]) => [name, fields]));
    const file = { version: 2, ...address, ...this.#top, tunnels };
    return `# Imported from ${origin} by "postern import". Start it with: postern start --all --config FILE\n${yamlText(file)}`;
  }

  #freeName(wanted: string): string {
    const base =
      wanted
        .replaceAll(/[^A-Za-z0-9_.-]+/g, '-')
        .replace(/^[^A-Za-z0-9]+/, '')
        .slice(0, 60) || 'tunnel';
    let name = nameProblem(base) === null ? base : 'tunnel';
    for (let number = 2; this.#tunnels.has(name); number += 1) name = `${base}-${number}`;
    return name;
  }
}

function hostsOf({ fields, source }: WrittenTunnel): readonly string[] {
  return [fields['domain'], source.host].filter((each) => typeof each === 'string').map(hostKey);
}

/** A template may be any host. */
function hostKey(host: string): string {
  const plain = host.trim().toLowerCase().replace(/\.$/, '');
  return /[{}$%\s]/.test(plain) || plain === '*' ? '?' : plain;
}

function mayBeSame(own: string, closed: string): boolean {
  if (own === closed || own === '?' || closed === '?') return true;
  const startsWith = (host: string, open: string): boolean => open.endsWith('.?') && host.startsWith(open.slice(0, -1));
  return startsWith(own, closed) || startsWith(closed, own);
}
