import { stringify } from 'yaml';
import { DEFAULTS_FILE, type FileEntry, readConfigText } from '../../src/app/settings/load.ts';
import { flagOf, settingNames, settingOf, variableOf } from '../../src/app/settings/schema.ts';
import { FIRST_SETTINGS, settingsInGroups } from '../../src/app/settings/setting-flags.ts';
import { readProgramFile } from '../../src/kit/program-files.ts';
import type { DeclaredSetting } from '../../src/kit/settings/setting.ts';
import { wrapText } from '../../src/kit/text/terminal-text.ts';

const DEFAULTS_PATH = 'src/app/settings/defaults.yaml';
const REFERENCE_PATH = 'docs/reference/configuration.md';
const COMMENT_WIDTH = 110;

export const name = 'configuration';

/**
 * Values come from the defaults file or, for a module's setting, from its row; texts come from the rows: each is
 * written once.
 */
export async function generate(): Promise<Map<string, string>> {
  const defaults = readConfigText(readProgramFile(DEFAULTS_FILE), DEFAULTS_PATH);
  return new Map([
    [DEFAULTS_PATH, defaultsFile(defaults)],
    [REFERENCE_PATH, referencePage(defaults)],
  ]);
}

function defaultsFile(defaults: Map<string, FileEntry>): string {
  const head = [
    '# Default values of all settings. The server reads this file. Do not edit it to configure a server:',
    '# copy the lines you need into your own file and start the server with --config FILE.',
    '# Precedence: flags, POSTERN_ variables, your file, this file. An empty value counts as unset.',
    '# "npm run generate" writes the comments from the settings in src/app/settings and src/modules/*/settings.ts.',
  ];
  const blocks = settingNames.map((setting) => {
    const comment = wrapText(words(setting), COMMENT_WIDTH).map((line) => `# ${line}`);
    const text = defaultText(setting, defaults);
    const value = text.includes('\n') ? `\n${block(setting, defaults)}` : padded(text);
    return [...comment, `${setting}:${value}`].join('\n');
  });
  return `${[head.join('\n'), ...blocks].join('\n\n')}\n`;
}

function referencePage(defaults: Map<string, FileEntry>): string {
  const missing = FIRST_SETTINGS.find((setting) => !settingNames.some((each) => each === setting));
  if (missing !== undefined) throw new Error(`there is no setting ${missing}`);
  const groups = settingsInGroups(settingNames);
  const head = `# Configuration

<!-- Generated from src/app/settings/ by "npm run generate". Do not edit. -->

Each setting can be a flag of \`postern server\`, an environment variable, or a line of a YAML file (\`--config FILE\` or \`POSTERN_CONFIG\`; \`server.yaml\` in \`/etc/postern\`, \`postern-server.yaml\` elsewhere, by convention). Flags take precedence over variables, variables over the file, the file over the defaults. An empty value counts as unset. In flags and variables, separate the items of a list with commas. The server does not start with an unknown name or an invalid value. \`postern server --print-config\` shows the effective values and where each came from, with secrets masked. Use variables or the file for secrets: other users of the machine can read the flags of a process.

A duration is a number and a unit (\`90s\`, \`14d\`, \`250ms\`), or several, the largest first (\`1h30m\`): \`d\`, \`h\`, \`m\`, \`s\`, \`ms\`. A number without a unit is in the unit that the setting names. A server whose settings are wrong exits with 78. A file that cannot be read exits with 1, because it may be there a moment later.

## The ten that matter first

A server runs without any setting. These are the ones that most servers change.

| setting | default | meaning |
|---|---|---|
${FIRST_SETTINGS.map((setting) => `| [\`${setting}\`](#${setting}) | ${shownDefault(setting, defaults)} | ${firstSentence(words(setting))} |`).join('\n')}

## All settings

| group | settings |
|---|---|
${groups.map(([title, settings]) => `| [${title}](#${anchor(title)}) | ${settings.map((each) => `[\`${each}\`](#${each})`).join(', ')} |`).join('\n')}
`;
  const sections = groups.flatMap(([title, settings]) => [
    `## ${title}\n`,
    ...settings.map((setting) => section(setting, defaults)),
  ]);
  return [head, ...sections].join('\n');
}

function anchor(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^a-z ]/g, '')
    .replaceAll(' ', '-');
}

function firstSentence(text: string): string {
  return /^.*?[.](?= [A-Z]|$)/.exec(text)?.[0] ?? text;
}

function section(setting: string, defaults: Map<string, FileEntry>): string {
  return `### \`${setting}\`

${words(setting)}

Default: ${shownDefault(setting, defaults)}. Allowed: ${settingOf(setting).kind.allowed}. \`${variableOf(setting)}\`, \`--${flagOf(setting)}\`
`;
}

function shownDefault(setting: string, defaults: Map<string, FileEntry>): string {
  // A list that takes several lines in the file takes one on the page.
  const value = defaultText(setting, defaults)
    .replaceAll(/,?\s*\n\s*(\]?)/g, (_break, end: string) => (end === '' ? ', ' : end))
    .replace(/^\[, /, '[');
  return value === '' ? 'unset' : `\`${value}\``;
}

function words(setting: string): string {
  const { description, usedFrom, secrecy } = settingOf(setting);
  const notes = [description];
  if (secrecy === 'secret') notes.push('Secret: never logged or printed.');
  if (secrecy === 'password') notes.push('The password is secret: never logged or printed.');
  if (usedFrom !== null) notes.push(`Checked now, used from ${usedFrom}.`);
  return notes.join(' ');
}

/** A list that is too long for one line. */
function block(setting: string, defaults: Map<string, FileEntry>): string {
  return stringify(defaultOf(setting, defaults)).trim().replaceAll(/^/gm, '  ');
}

function defaultText(setting: string, defaults: Map<string, FileEntry>): string {
  const value = defaultOf(setting, defaults);
  return value === null || value === undefined
    ? ''
    : stringify(value, { collectionStyle: 'flow', flowCollectionPadding: false }).trim();
}

/** A module's setting declares its own. Durations get a unit. */
function defaultOf(setting: string, defaults: Map<string, FileEntry>): unknown {
  const row = settingOf(setting);
  const value = (row as Partial<DeclaredSetting<unknown>>).default ?? defaults.get(setting)?.value;
  return typeof value === 'number' ? row.kind.encode(row.kind.decode(value)) : value;
}

function padded(text: string): string {
  return text === '' ? '' : ` ${text}`;
}
