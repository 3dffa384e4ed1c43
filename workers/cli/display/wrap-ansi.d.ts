/** wrap-ansi 7, the last version that CommonJS can load, comes without types. */
declare module 'wrap-ansi' {
  function wrapAnsi(
    text: string,
    columns: number,
    options: { readonly hard: boolean; readonly trim: boolean },
  ): string;
  export = wrapAnsi;
}
