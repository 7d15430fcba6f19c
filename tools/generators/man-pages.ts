import type { CommandSyntax, FlagGroup } from '../../src/app/cli/command.ts';
import { flagDescription, flagGroups, flagText, usageOf } from '../../src/app/cli/command-help.ts';
import { COMMANDS } from '../../src/app/main/commands/command-list.ts';
import type { Flag } from '../../src/kit/flags.ts';
import { wrapText } from '../../src/kit/text/terminal-text.ts';

const FOLDER = 'man';
/** When the form of the pages last changed: the day of a build would change them each time. */
const DATE = '2026-11-18';
const WIDTH = 72;
const OVERVIEW =
  'Postern is self-hosted ingress: one program that terminates HTTPS for your hosts, decides who may pass, and forwards requests to services, also behind NAT.';

export const name = 'man-pages';
export const readsGenerated = true;

/** A page of section 1 for each command, and one about all. */
export async function generate(): Promise<Map<string, string>> {
  const syntaxes = await Promise.all(COMMANDS.map(async (command) => (await command.load()).syntax));
  const pages = syntaxes.map((syntax) => [`${FOLDER}/postern-${syntax.name}.1`, commandPage(syntax)] as const);
  return new Map([[`${FOLDER}/postern.1`, mainPage(syntaxes)], ...pages]);
}

function mainPage(syntaxes: readonly CommandSyntax[]): string {
  const commands = syntaxes.map(({ name: command, about }) => item(`postern ${command}`, firstSentence(about)));
  return page('POSTERN', [
    section('NAME', ['postern \\- self-hosted ingress']),
    section('SYNOPSIS', [bold('postern COMMAND [FLAGS]'), '.br', bold('postern help COMMAND')]),
    section('DESCRIPTION', [text(OVERVIEW)]),
    section('COMMANDS', commands),
    section('SEE ALSO', [syntaxes.map(({ name: command }) => `\\fBpostern\\-${escaped(command)}\\fP(1)`).join(',\n')]),
  ]);
}

function commandPage(syntax: CommandSyntax): string {
  const { name: command, about, subcommands = [], notes = [], examples = [], exitCodes } = syntax;
  const forms = usageOf(syntax, null).flatMap((form, index) => (index === 0 ? [bold(form)] : ['.br', bold(form)]));
  const words = subcommands.map((each) => item(`${each.name} ${each.operands ?? ''}`.trim(), each.about));
  const codes = Object.entries(exitCodes).map(([code, meaning]) => item(code, meaning));
  return page(`POSTERN-${command.toUpperCase()}`, [
    section('NAME', [
      `postern\\-${escaped(command)} \\- ${escaped(lowerFirst(firstSentence(about).replace(/\.$/, '')))}`,
    ]),
    section('SYNOPSIS', forms),
    section('DESCRIPTION', [text(about)]),
    ...(words.length === 0 ? [] : [section('SUBCOMMANDS', words)]),
    ...flagGroups(syntax, null).map(groupSection),
    ...(notes.length === 0 ? [] : [section('NOTES', notes.map(noteText))]),
    ...(examples.length === 0 ? [] : [section('EXAMPLES', [literal(examples.join('\n'))])]),
    section('EXIT STATUS', codes),
    section('SEE ALSO', ['\\fBpostern\\fP(1)']),
  ]);
}

function groupSection({ title, flags, summary }: FlagGroup): string {
  const rows = summary === undefined ? flags.map(flagItem) : [text(summary)];
  return section(title === 'Flags' ? 'OPTIONS' : title.toUpperCase(), rows);
}

function flagItem(flag: Flag): string {
  return item(flagText(flag), flagDescription(flag));
}

/** A note of several lines, such as a sample file, is shown as it is. */
function noteText(note: string, index: number): string {
  const shown = note.includes('\n') ? literal(note) : text(note);
  return index === 0 ? shown : `.PP\n${shown}`;
}

function page(title: string, sections: readonly string[]): string {
  const head = `.\\" Generated from the syntax of the commands by "npm run generate". Do not edit.`;
  return `${head}\n.TH "${escaped(title)}" 1 "${DATE}" "Postern"\n${sections.join('\n')}\n`;
}

function section(title: string, lines: readonly string[]): string {
  return [`.SH "${escaped(title)}"`, ...lines].join('\n');
}

function item(head: string, body: string): string {
  return `.TP\n${bold(head)}\n${text(body)}`;
}

function bold(words: string): string {
  return `\\fB${escaped(words)}\\fP`;
}

function literal(lines: string): string {
  return `.nf\n.RS 4\n${lines.split('\n').map(line).join('\n')}\n.RE\n.fi`;
}

function text(words: string): string {
  return wrapText(words, WIDTH).map(line).join('\n');
}

/** One that begins with a dot or an apostrophe would be a request. */
function line(words: string): string {
  const shown = escaped(words);
  return /^[.']/.test(shown) ? `\\&${shown}` : shown;
}

/** groff's own characters, and those that are not ASCII: `man` may run without UTF-8. */
function escaped(words: string): string {
  return words
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('"', '\\(dq')
    .replaceAll(
      /[^\x20-\x7e]/g,
      (character) => `\\[u${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`,
    );
}

function firstSentence(about: string): string {
  return /^.*?[.:](?= |$)/.exec(about)?.[0].replace(/:$/, '.') ?? about;
}

function lowerFirst(words: string): string {
  return `${words[0]?.toLowerCase() ?? ''}${words.slice(1)}`;
}
