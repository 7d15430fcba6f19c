import { didYouMean } from '../../../kit/text/near-match.ts';
import { apiResources } from '../../cli/api/api-resources.ts';
import { operationList } from '../../cli/api/operation-list.ts';
import type { CommandContext } from '../../cli/command.ts';
import { helpTable, leftWidth, paragraph } from '../../cli/command-help.ts';
import { otherWord } from '../../cli/other-words.ts';
import { mainErrors } from '../errors.ts';
import { programVersion } from '../version.ts';

interface NamedCommand {
  readonly name: string;
  readonly part: string;
  readonly summary: string;
}

const EXIT_USAGE = 2;

const EXAMPLES = `Examples:
  postern up app.localhost --to 3000   publish port 3000 here, to try it
  sudo postern up app.example.com --to 3000 --email you@example.com
                                       publish it on a server with a domain
  postern http 3000                    publish it through an agent
  postern status                       show what is served, and what is wrong`;

/** The list of commands, for `--help` and for a command line without one. */
export function overview(commands: readonly NamedCommand[], name: string | undefined, context: CommandContext): number {
  const isAsked = name === 'help' || name === '--help' || name === '-h';
  if (name !== undefined && !isAsked) {
    throw mainErrors.create(
      'ERR_POSTERN_COMMAND',
      `unknown flag ${name.split('=')[0]} before the command; see postern --help`,
    );
  }
  const width = leftWidth(commands.map((row) => [row.name, row.summary]));
  const parts = Map.groupBy(commands, ({ part }) => part);
  const text = [
    `Postern ${programVersion()}: self-hosted ingress`,
    'Usage: postern COMMAND [FLAGS]',
    EXAMPLES,
    ...Array.from(
      parts,
      ([part, rows]) =>
        `${part}:\n${helpTable(
          rows.map((row) => [row.name, row.summary]),
          width,
        )}`,
    ),
    paragraph('Run postern help COMMAND for the flags of a command, postern version for the version.'),
  ].join('\n\n');
  if (isAsked) context.print(text);
  else context.warn(text);
  return isAsked ? 0 : EXIT_USAGE;
}

export function findCommand<Row extends NamedCommand>(commands: readonly Row[], name: string): Row {
  const found = commands.find((command) => command.name === name);
  if (found !== undefined) return found;
  const ours = otherWord(name);
  if (ours !== null) throw mainErrors.create('ERR_POSTERN_COMMAND', ours);
  const isResource = apiResources(operationList()).some((each) => each.name === name || each.aliases.includes(name));
  if (isResource)
    throw mainErrors.create('ERR_POSTERN_COMMAND', `${name} is a resource of the API: postern api ${name} --help`);
  const names = [...commands.map((command) => command.name), 'help', 'version'];
  const message = `unknown command ${JSON.stringify(name)}.${didYouMean(name, names)} postern --help lists the commands`;
  throw mainErrors.create('ERR_POSTERN_COMMAND', message);
}
