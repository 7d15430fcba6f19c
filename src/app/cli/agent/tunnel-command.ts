import { createTextSource, type TextSource } from '../api/text-source.ts';
import { type Command, parseCommand } from '../command.ts';
import type { AgentPorts } from './agent-ports.ts';
import { type TunnelCommandName, tunnelSyntax } from './agent-syntax.ts';
import { loadConfigFile } from './config/read-agent-config.ts';
import { FlagValues } from './flag-values.ts';
import { leadingFlag, moduleForms } from './module-forms.ts';
import { runAgent } from './run-agent.ts';
import { runOptions } from './run-options.ts';
import { tunnelFromFlags } from './tunnel-from-flags.ts';
import { readCertificates, tunnelSpecs } from './tunnel-specs.ts';

/** `postern http`, `tcp`, `tls` and `tunnel`: one tunnel, by flags. */
export function createTunnelCommand(
  name: TunnelCommandName,
  ports: AgentPorts,
  source: TextSource = createTextSource(),
): Command {
  const syntax = tunnelSyntax(name);
  return {
    syntax,
    run: async (args, context) => {
      const parsed = parseCommand(syntax, args);
      const values = new FlagValues(parsed);
      const tunnel = await tunnelFromFlags(name, parsed.positionals, values, source);
      const file = await loadConfigFile(values.text('config') ?? undefined, context.env, ports.files);
      const specs = await tunnelSpecs(tunnel, (paths, key) => readCertificates(paths, flagOfFiles(key), ports.files));
      return runAgent(await runOptions(specs, { flags: values, context, ports, source, file }), ports, context);
    },
  };
}

/** The flag that names the files of a key. */
function flagOfFiles(key: string): string {
  const form = moduleForms().find((each) => each.key === key);
  return form === undefined ? '--upstream-ca' : leadingFlag(form);
}
