/** What the address of a store may be: an error never shows its password. */
import { openStore } from '../../activities/stores/open-store';

test.each([
  ['mysql://me:secret-word@db/runs', '"mysql://me:***@db/runs"'],
  ['MySQL://me:secret@word@db/runs', '"MySQL://me:***@db/runs"'],
  ['mysql://me@db/runs?password=secret-word&x=1', '"mysql://me@db/runs?password=***&x=1"'],
  ['mysql://db?sslpassword=secret-word', '"mysql://db?sslpassword=***"'],
])('%s is refused without its password', async (url, shown) => {
  const opened = openStore(url);
  await expect(opened).rejects.toThrow(`The store address ${shown} has the unknown scheme "mysql"`);
  await expect(opened).rejects.not.toThrow('secret');
});

test.each([
  ['no text', undefined, 'is undefined'],
  ['no file', 'sqlite:', 'does not name a file'],
  ['memory', 'sqlite::memory:', 'keeps nothing after a crash'],
])('an address of %s is refused, with what it may be', async (_what, url, why) => {
  const opened = openStore(url as string);
  await expect(opened).rejects.toThrow(why);
  await expect(opened).rejects.toThrow('sqlite:<path>');
});
