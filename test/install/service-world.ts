import { createServiceCommand } from '../../src/app/cli/service/service-command.ts';
import type { ServicePorts } from '../../src/app/cli/service/service-ports.ts';
import { servicePorts } from '../../src/app/main/commands/service-ports.ts';

export interface ServiceWorld {
  readonly ports?: Partial<ServicePorts>;
  readonly env?: Readonly<Record<string, string>>;
}

export interface ServiceOutcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** Commands given to systemctl. */
  readonly systemctl: readonly string[];
}

/** `postern service …` on the real file system, with a machine that can have other properties than this one. */
export async function service(
  args: readonly string[],
  { ports = {}, env = {} }: ServiceWorld = {},
): Promise<ServiceOutcome> {
  const out: string[] = [];
  const err: string[] = [];
  const systemctl: string[] = [];
  const command = createServiceCommand({
    ...servicePorts,
    ownCommand: () => ['/usr/local/bin/postern'],
    closedTo: () => null,
    list: () => [],
    isRoot: () => true,
    hasSystemd: () => true,
    systemctl: (given) => {
      systemctl.push(given.join(' '));
      return { isDone: !given.includes('is-active'), output: '' };
    },
    ...ports,
  });
  const context = {
    env,
    isTerminal: false,
    print: (line: string) => void out.push(line),
    warn: (line: string) => void err.push(line),
  };
  const code = await command.run(args, context);
  return { code, out: out.join('\n'), err: err.join('\n'), systemctl };
}
