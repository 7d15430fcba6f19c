const TIME = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
});

/** As HTML. In UTC, until the script of the page shows the time of the person's browser. */
export function shownTime(ms: number): string {
  return `<time datetime="${new Date(ms).toISOString()}">${TIME.format(ms)} UTC</time>`;
}
