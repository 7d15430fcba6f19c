import { AGENT_NOTES, RUN_GROUP } from '../../src/app/cli/agent/agent-syntax.ts';
import { apiResources, verbWord } from '../../src/app/cli/api/api-resources.ts';
import { operationList } from '../../src/app/cli/api/operation-list.ts';
import type { CommandSyntax, FlagGroup } from '../../src/app/cli/command.ts';
import { flagDescription, flagGroups, flagText, usageOf } from '../../src/app/cli/command-help.ts';
import { CONNECTION } from '../../src/app/cli/shared-flags.ts';
import { COMMANDS } from '../../src/app/main/commands/command-list.ts';
import { groupedSettingFlags } from '../../src/app/settings/setting-flags.ts';
import type { Flag } from '../../src/kit/flags.ts';

const PAGE_PATH = 'docs/reference/cli.md';

export const name = 'cli';
export const readsGenerated = true;

/** Every command with its flags and exit codes. */
export async function generate(): Promise<Map<string, string>> {
  const syntaxes = await Promise.all(COMMANDS.map(async (command) => (await command.load()).syntax));
  const page = [
    HEAD,
    overview(),
    flagSection('## Connection flags', CONNECTION.flags),
    agentSection(),
    ...syntaxes.map(section),
  ];
  return new Map([[PAGE_PATH, `${page.join('\n\n')}\n`]]);
}

const HEAD = `# The command line

<!-- Generated from the syntax of the commands in src/app/cli by "npm run generate". Do not edit. -->

\`postern help COMMAND\` prints what this page says about a command; with \`--all\`, also what it only names otherwise. A flag is \`--flag VALUE\` or \`--flag=VALUE\`; a switch is \`--flag\`, and \`--no-flag\` turns it off. Every command exits with 2 when it does not understand its arguments, and with 78 when a setting of the server or the file of an agent is wrong. A settings or agent file that cannot be read exits with 1, because it may be there a moment later; any other file that the command line names exits with 2. \`postern completion bash\`, \`zsh\` or \`fish\` prints a completion script. [Names and output](names-and-output.md) describes what the commands share.`;

function overview(): string {
  const parts = Map.groupBy(COMMANDS, ({ part }) => part);
  const rows = Array.from(parts, ([part, commands]) => {
    const links = commands.map((command) => `[\`${command.name}\`](#postern-${command.name})`);
    return `| ${part} | ${links.join(', ')} |`;
  });
  return ['| | commands |', '|---|---|', ...rows].join('\n');
}

function section(syntax: CommandSyntax): string {
  const { name: command, about, subcommands = [], notes = [], examples = [], exitCodes } = syntax;
  const uses = usageOf(syntax, null).join('\n');
  const words = subcommands.map(
    (each) => `| \`${`${each.name} ${each.operands ?? ''}`.trim().replaceAll('|', '\\|')}\` | ${cell(each.about)} |`,
  );
  const codes = Object.entries(exitCodes).map(([code, meaning]) => `${code} ${meaning}`);
  return [
    `## \`postern ${command}\``,
    prose(about),
    block(uses),
    ...(words.length === 0 ? [] : [['| subcommand | |', '|---|---|', ...words].join('\n')]),
    ...(command === 'api' ? [resourceTable()] : []),
    ...flagGroups(syntax, null)
      .map((group) => groupText(syntax, group))
      .filter((text) => text !== ''),
    ...notes
      .filter((note) => !AGENT_NOTES.includes(note))
      .map((note) => (note.includes('\n') ? block(note) : prose(note))),
    ...(examples.length === 0 ? [] : [block(examples.join('\n'))]),
    `Exit codes: ${codes.join(', ')}.`,
  ].join('\n\n');
}

function groupText({ name: command }: CommandSyntax, { title, flags, summary }: FlagGroup): string {
  if (title === CONNECTION.title) return 'And the [connection flags](#connection-flags).';
  if (title === RUN_GROUP.title) return 'And the [agent flags](#agent-flags).';
  if (summary !== undefined)
    return prose(summary.replace('; postern server --help lists them', '; [Configuration](configuration.md)'));
  if (command === 'server' && title === groupedSettingFlags()[0]?.title)
    return 'And every setting: [Configuration](configuration.md).';
  if (command === 'server' && title !== 'Flags') return '';
  return flagSection(title === 'Flags' ? '' : `${title}:`, flags);
}

/** What all commands of the agent share, once. */
function agentSection(): string {
  const users =
    '`postern http`, `tcp`, `tls`, `tunnel` and `start` take these flags. [The agent](agent.md) describes what they do.';
  return [flagSection(`## Agent flags\n\n${users}`, RUN_GROUP.flags), ...AGENT_NOTES.map(prose)].join('\n\n');
}

function flagSection(title: string, flags: readonly Flag[]): string {
  const rows = flags.map((flag) => `| \`${flagText(flag).replaceAll('|', '\\|')}\` | ${cell(flagDescription(flag))} |`);
  return [...(title === '' ? [] : [title, '']), '| flag | |', '|---|---|', ...rows].join('\n');
}

function resourceTable(): string {
  const rows = apiResources(operationList()).map(({ name: resource, aliases, description, operations }) => {
    const names = [resource, ...aliases].map((each) => `\`${each}\``).join(', ');
    return `| ${names} | ${operations.map((operation) => `\`${verbWord(operation)}\``).join(', ')} | ${cell(description)} |`;
  });
  return ['| resource | verbs | |', '|---|---|---|', ...rows].join('\n');
}

/** Words in quotation marks are commands, files or values. Code keeps its quotation marks. */
function prose(text: string): string {
  return text.replaceAll(/`[^`]*`|"([^"]+)"/g, (all: string, quoted?: string) =>
    quoted === undefined ? all : `\`${quoted}\``,
  );
}

function cell(text: string): string {
  return prose(text)
    .replaceAll('|', '\\|')
    .replaceAll(/<(?=[a-z])/g, '\\<');
}

function block(text: string): string {
  return `\`\`\`text\n${text}\n\`\`\``;
}
