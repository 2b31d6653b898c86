import type { Test } from 'tap'
import { forgetUser } from '../../lib/administration/forget-user.ts'
import { Members } from '../../lib/administration/members.ts'
import { setCompany } from '../../lib/documents/company-versions.ts'
import { newId } from '../../lib/platform/new-id.ts'
import { company } from '../fixtures/companies.ts'
import type { OpenStore, StoreUnderTest } from './store-under-test.ts'

const day = 24 * 60 * 60_000

interface Person {
  readonly id: string
  readonly email: string
  readonly accountId: string
}

async function person(store: StoreUnderTest): Promise<Person> {
  const id = newId()
  const email = `${id}@example.com`
  await store.users.createUser({ id, email, name: '', created_at: 1, updated_at: 1, email_verified: 1 }, [])
  const [own] = await store.users.memberships(id)
  return { id, email, accountId: own?.accountId ?? '' }
}

/** The contract of members of accounts, on every store. */
export async function membersContract(t: Test, open: OpenStore): Promise<void> {
  await t.test('an invitation makes a member of the user with its address, once', async t => {
    let now = 1_000_000
    const clock = { now: () => now }
    const store = await open(t, { clock })
    const members = new Members({ records: await store.records(), clock })
    const owner = await person(store)
    const accountant = await person(store)
    const stranger = await person(store)
    const { accountId, id: invitedBy } = owner
    const { email } = accountant

    t.equal(await members.invite({ accountId, email, invitedBy }), 'invited')
    now += day
    t.equal(await members.invite({ accountId, email, invitedBy }), 'invited')
    t.strictSame(await members.invitations({ accountId }), [{ accountId, email, expiresAt: now + 14 * day }])
    t.strictSame(await members.invitations({ email: stranger.email }), [])
    t.equal(await members.accept(stranger, accountId), false)

    const accepted = await Promise.all([1, 2, 3].map(() => members.accept(accountant, accountId)))
    t.equal(accepted.filter(Boolean).length, 1)
    t.strictSame(await members.invitations({ email }), [])
    t.match(await members.list(accountId), [
      { userId: owner.id, role: 'owner' },
      { userId: accountant.id, email, role: 'accountant', since: now },
    ])
    t.strictSame(await store.users.memberships(accountant.id), [
      { accountId: accountant.accountId, role: 'owner' },
      { accountId, role: 'accountant' },
    ])
    t.equal(await members.invite({ accountId, email, invitedBy }), 'member')
    t.strictSame(await store.verify(), [])
  })

  await t.test('an invitation expires, and both its account and its reader can end it', async t => {
    let now = 1_000_000
    const clock = { now: () => now }
    const store = await open(t, { clock })
    const members = new Members({ records: await store.records(), clock })
    const { accountId, id: invitedBy } = await person(store)
    const accountant = await person(store)
    const { email } = accountant

    await members.invite({ accountId, email, invitedBy })
    now += 14 * day
    t.strictSame(await members.invitations({ email }), [])
    t.equal(await members.accept(accountant, accountId), false)
    await members.invite({ accountId, email, invitedBy })
    t.equal(await members.endInvitation(accountId, email), true)
    t.equal(await members.endInvitation(accountId, email), false)
    t.equal(await members.accept(accountant, accountId), false)
    t.equal((await store.users.memberships(accountant.id)).length, 1)
  })

  await t.test("a membership ends at once, but the owner's never", async t => {
    const clock = { now: () => 1_000_000 }
    const store = await open(t, { clock })
    const members = new Members({ records: await store.records(), clock })
    const owner = await person(store)
    const accountant = await person(store)
    const { accountId } = owner
    await members.invite({ accountId, email: accountant.email, invitedBy: owner.id })
    await members.accept(accountant, accountId)

    t.equal(await members.remove(accountId, owner.id), false)
    t.equal(await members.remove(accountant.accountId, owner.id), false)
    t.equal(await members.remove(accountId, accountant.id), true)
    t.equal(await members.remove(accountId, accountant.id), false)
    t.equal((await store.users.memberships(owner.id)).length, 1)
    t.equal((await store.users.memberships(accountant.id)).length, 1)
  })

  await t.test('an account has at most twenty members and invitations', async t => {
    const clock = { now: () => 1_000_000 }
    const store = await open(t, { clock })
    const members = new Members({ records: await store.records(), clock })
    const { accountId, id: invitedBy } = await person(store)
    const invite = (index: number) => members.invite({ accountId, email: `${index}@example.com`, invitedBy })
    for (let index = 1; index <= 19; index += 1) t.equal(await invite(index), 'invited')

    t.equal(await invite(20), 'full')
    t.equal(await invite(19), 'invited', 'inviting again')
  })

  await t.test('a deleted user loses all access and leaves none', async t => {
    const clock = { now: () => 1_000_000 }
    const store = await open(t, { clock })
    const members = new Members({ records: await store.records(), clock })
    const owner = await person(store)
    const accountant = await person(store)
    const other = await person(store)
    const { accountId } = owner
    await members.invite({ accountId, email: accountant.email, invitedBy: owner.id })
    await members.accept(accountant, accountId)
    await members.invite({ accountId, email: other.email, invitedBy: owner.id })
    await members.invite({ accountId: other.accountId, email: accountant.email, invitedBy: other.id })

    await forgetUser(await store.records(), accountant.id)
    t.match(await members.list(accountId), [{ userId: owner.id }])
    t.strictSame(await members.invitations({ accountId: other.accountId }), [])
    await members.invite({ accountId, email: other.email, invitedBy: owner.id })
    await members.accept(other, accountId)
    await forgetUser(await store.records(), owner.id)

    t.match(await store.users.memberships(other.id), [{ accountId: other.accountId, role: 'owner' }])
    t.equal((await store.users.memberships(other.id)).length, 1)
  })

  await t.test('an account is named by its company, else by its email address', async t => {
    const clock = { now: () => 1_000_000 }
    const store = await open(t, { clock })
    const records = await store.records()
    const members = new Members({ records, clock })
    const { accountId, email } = await person(store)

    t.equal(await members.accountName(accountId), email)
    await setCompany(records, accountId, company, 1)
    await setCompany(records, accountId, { ...company, name: 'ООО «Лютик»' }, 2)
    t.equal(await members.accountName(accountId), 'ООО «Лютик»')
    t.equal(await members.accountName('nobody'), 'nobody')
  })
}
