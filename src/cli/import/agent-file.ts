import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { yamlText } from '../../lib/text/yaml/yaml-text.ts';
import { examineAgentConfig } from '../agent/config/read-agent-config.ts';
import { nameProblem } from '../agent/config/text-problems.ts';
import { type ImportReport, isUnset } from './import-report.ts';

/** The configuration file of an agent that an import makes. */
export class AgentFile {
  readonly #tunnels: Record<string, JsonObject> = {};
  readonly #top: Record<string, JsonValue> = {};
  readonly #report: ImportReport;

  constructor(report: ImportReport) {
    this.#report = report;
  }

  get tunnelCount(): number {
    return Object.keys(this.#tunnels).length;
  }

  set(field: string, value: JsonValue): void {
    this.#top[field] = value;
  }

  /** Fields that are unset are left out. A tunnel that the agent would reject is reported instead. */
  add(wanted: string, fields: JsonObject, place: readonly string[]): void {
    const tunnel = Object.fromEntries(Object.entries(fields).filter(([, value]) => !isUnset(value as JsonValue)));
    const name = this.#freeName(wanted);
    const reading = examineAgentConfig(yamlText({ version: 2, tunnels: { [name]: tunnel } }), 'tunnel');
    if (reading.ok) this.#tunnels[name] = tunnel as JsonObject;
    else
      for (const problem of reading.problems)
        this.#report.drop(place, `the agent rejects it: ${problem.replace(/^tunnel:\d+: /, '')}`);
  }

  text(origin: string, serverAddr: string | undefined): string {
    const address = serverAddr === undefined ? {} : { server_addr: serverAddr };
    if (serverAddr === undefined)
      this.#report.note('set server_addr in the file, or POSTERN_SERVER_ADDR: the address of your server');
    this.#report.note('set authtoken in the file, or POSTERN_AUTHTOKEN: postern api credentials create makes a token');
    const file = { version: 2, ...address, ...this.#top, tunnels: this.#tunnels };
    return `# Imported from ${origin} by "postern import". Start it with: postern start --all --config FILE\n${yamlText(file)}`;
  }

  #freeName(wanted: string): string {
    const base =
      wanted
        .replaceAll(/[^A-Za-z0-9_.-]+/g, '-')
        .replace(/^[^A-Za-z0-9]+/, '')
        .slice(0, 60) || 'tunnel';
    let name = nameProblem(base) === null ? base : 'tunnel';
    for (let number = 2; Object.hasOwn(this.#tunnels, name); number += 1) name = `${base}-${number}`;
    return name;
  }
}
