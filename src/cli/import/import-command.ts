import { type FlagForm, parseFlags, usage } from '../../lib/flags.ts';
import { didYouMean } from '../../lib/near-match.ts';
import type { Command, CommandContext } from '../command.ts';
import { OUTPUT_FLAGS, outputFormat } from '../output/output-format.ts';
import { ImportReport } from './import-report.ts';
import { printReport } from './print-report.ts';
import { SOURCES } from './sources.ts';
import { writeOutput } from './write-output.ts';

const HELP = `
Usage: postern import SOURCE [FILE] [FLAGS]

Reads the configuration of another program, writes it as a file for Postern, and reports every field that could not be carried
over, with the reason. It changes nothing else: look at the file, then apply or start it.

  ngrok               edges, routes, modules, backends, certificate authorities, policies and domains of the retired API, to
                      postern.yaml for "postern apply"
  ngrok-agent FILE    tunnels and endpoints of an ngrok.yml, version 2 or 3, to postern.yml for "postern start"
  frp FILE            proxies of an frpc.toml or frpc.ini, to postern.yml for "postern start"
  caddy FILE          sites of Caddy's JSON ("caddy adapt") that forward to upstreams, to postern.yaml for "postern apply"

  --file              file to write (default postern.yaml or postern.yml); - prints it
  --force             replace an existing file
  --output            form of the report: table, json or yaml (default table); -o for short
  --from-file         ngrok: read saved answers instead of the API: an object of list key and array, or a list of answers
  --api-key-file      ngrok: file with the API key of the retired API, - reads standard input (default NGROK_API_KEY)
  --api-key           ngrok: the key itself; other users of this machine can read it
  --base-url          ngrok: address of the retired API (default https://api.ngrok.com)
  --server-addr       ngrok-agent, frp: address of your server for server_addr, such as gateway.example.com:7444

A route or tunnel whose protection cannot be carried over is turned off or left out: nothing becomes open to everybody. A
postern.yaml has no secrets: it refers to environment variables, which the report lists. The postern.yml of an agent has the
client secrets of its logins; only its owner can read the file.

Exit codes: 0 everything was carried over, 1 the input cannot be read or the file not be written, 2 invalid usage, 4 the file is
written and the report names what is missing.
`;

const FLAGS: readonly (readonly [string, FlagForm])[] = [
  ...OUTPUT_FLAGS,
  ['file', 'value'],
  ['force', 'switch'],
  ['from-file', 'value'],
  ['api-key-file', 'value'],
  ['api-key', 'value'],
  ['base-url', 'value'],
  ['server-addr', 'value'],
];
const EXIT_INCOMPLETE = 4;

/** Configuration of other programs. */
export const importCommand: Command = {
  help: HELP,
  run: async ([name = '', ...args], context) => {
    const source = SOURCES.get(name);
    if (source === undefined) {
      throw usage(
        `unknown source ${JSON.stringify(name.slice(0, 40))}.${didYouMean(name, SOURCES.keys())} Sources: ${[...SOURCES.keys()].join(', ')}`,
      );
    }
    const parsed = parseFlags(args, new Map(FLAGS));
    const format = outputFormat(parsed.flags, ['table', 'json', 'yaml']);
    const [given] = parsed.positionals;
    if (parsed.positionals.length > 1 || (given === undefined) === source.takesFile) {
      throw usage(
        source.takesFile
          ? `postern import ${name} takes one file`
          : `postern import ${name} takes no file: use --from-file FILE`,
      );
    }
    const other = FLAGS.find(([flag]) => parsed.flags.has(flag) && source.otherFlags.includes(flag));
    if (other !== undefined) throw usage(`--${other[0]} cannot be used with postern import ${name}`);
    const report = new ImportReport();
    const { text, summary, secrets } = await source.read({ file: given ?? '', flags: parsed.flags, context, report });
    const path = parsed.flags.get('file') ?? source.defaultFile;
    await writeOutput(path, text, { isForced: parsed.flags.get('force') === 'true', context });
    await printReport(
      { path, summary, secrets, report, nextStep: source.nextStep(path) },
      format,
      reportContext(path, context),
    );
    return report.dropped.length === 0 ? 0 : EXIT_INCOMPLETE;
  },
};

/** When the file goes to standard output, the report goes to standard error. */
function reportContext(path: string, context: CommandContext): CommandContext {
  return path === '-' ? { ...context, print: (line) => context.warn(line) } : context;
}
