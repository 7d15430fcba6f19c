/**
 * The notes of a version: its section of the changelog, and what the release lacks. Before `npm version` has given the
 * changes a section, they are those that are unreleased.
 */
export function releaseNotes(changelog: string, version: string, leftOut: readonly string[]): string {
  const section = sectionOf(changelog, (title) => title.startsWith(`${version} (`));
  const changes = section ?? sectionOf(changelog, (title) => title === 'Unreleased');
  if (changes === undefined || changes === '') throw new Error(`CHANGELOG.md lists no change of ${version}`);
  const missing = leftOut.length === 0 ? [] : ['## Not in this release', leftOut.map((each) => `- ${each}`).join('\n')];
  const draft = section === undefined ? ['This is a build before the release.'] : [];
  return `${[`# Postern ${version}`, ...draft, changes, ...missing].join('\n\n')}\n`;
}

function sectionOf(changelog: string, isWanted: (title: string) => boolean): string | undefined {
  const sections = changelog.split(/^## /m).slice(1);
  const found = sections.find((section) => isWanted(section.slice(0, section.indexOf('\n')).trim()));
  return found?.slice(found.indexOf('\n')).trim();
}
