export const ESC = '\u001b';
const PIECES = new RegExp(`${ESC}\\[(\\??)([\\d;]*)([a-zA-Z])|\\r|\\n|[^${ESC}\\r\\n]+|${ESC}`, 'g');

/** A terminal's screen: enough of one to see what a user would see. */
export class Screen {
  readonly columns: number;
  readonly rows: number;
  isAlternate = false;
  isCursorHidden = false;
  doesWrap = true;
  /** A line was written below the last row. */
  hasScrolled = false;
  #cells: string[][];
  #row = 0;
  #column = 0;

  constructor(columns: number, rows: number) {
    this.columns = columns;
    this.rows = rows;
    this.#cells = this.#blank();
  }

  write(text: string): void {
    for (const match of text.matchAll(PIECES)) {
      const [all, isPrivate, parameter = '', final] = match;
      if (final === undefined) this.#put(all);
      else if (isPrivate === '?') this.#mode(parameter, final === 'h');
      else this.#control(final, parameter);
    }
  }

  lines(): readonly string[] {
    return this.#cells.map((row) => row.join('').trimEnd());
  }

  #put(text: string): void {
    if (text === '\r') this.#column = 0;
    else if (text === '\n') {
      this.#row += 1;
      if (this.#row < this.rows) return;
      this.hasScrolled = true;
      this.#row = this.rows - 1;
    } else {
      for (const character of text) {
        if (character === ESC) throw new Error('an escape sequence that the screen does not know');
        const row = this.#cells[this.#row] as string[];
        row[Math.min(this.#column, this.columns - 1)] = character;
        this.#column += 1;
      }
      if (this.#column > this.columns) throw new Error(`a line is ${this.#column} wide on ${this.columns} columns`);
    }
  }

  #mode(parameter: string, isOn: boolean): void {
    if (parameter === '1049') this.isAlternate = isOn;
    else if (parameter === '25') this.isCursorHidden = !isOn;
    else if (parameter === '7') this.doesWrap = isOn;
    else if (parameter !== '2026') throw new Error(`mode ${parameter} is not known`);
  }

  #control(final: string, parameter: string): void {
    const row = this.#cells[this.#row] as string[];
    // After the last cell of a row the cursor stays on it until more is written.
    const column = Math.min(this.#column, this.columns - 1);
    if (final === 'H') {
      this.#row = 0;
      this.#column = 0;
    } else if (final === 'K') row.fill(' ', column);
    else if (final === 'J' && parameter === '2') this.#cells = this.#blank();
    else if (final === 'J') {
      row.fill(' ', column);
      for (const below of this.#cells.slice(this.#row + 1)) below.fill(' ');
    } else if (final !== 'm') throw new Error(`sequence ${parameter}${final} is not known`);
  }

  #blank(): string[][] {
    return Array.from({ length: this.rows }, () => Array.from({ length: this.columns }, () => ' '));
  }
}
