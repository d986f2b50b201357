//! Every function of the Rust crate yottadb, over Caret.  Prints what failed, and the counts.
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use yottadb::*;

static PASSED: AtomicUsize = AtomicUsize::new(0);
static FAILED: AtomicUsize = AtomicUsize::new(0);

fn check(what: &str, ok: bool) {
    if ok {
        PASSED.fetch_add(1, Ordering::SeqCst);
    } else {
        FAILED.fetch_add(1, Ordering::SeqCst);
        println!("FAILED: {}", what);
    }
}

fn is_error<T>(what: &str, result: YDBResult<T>, code: i32) {
    match result {
        Ok(_) => check(what, false),
        Err(e) => check(&format!("{}: {}", what, e), e.status == code && e.to_string().contains("YDB-")),
    }
}

fn nodes(ctx: &Context, var: &str) -> YDBResult<()> {
    let root = ctx.new_key(Key::variable(var));
    root.delete(DeleteType::DelTree)?;
    let key = make_ckey!(ctx, var, "1", "x");
    is_error("get of nothing", key.get(), if var.starts_with('^') { YDB_ERR_GVUNDEF } else { YDB_ERR_LVUNDEF });
    key.set("value")?;
    root.set(b"root\0\xff")?;
    check("get", key.get()? == b"value");
    check("binary", root.get()? == b"root\0\xff");
    let long = vec![b'v'; 70000];
    make_ckey!(ctx, var, "long").set(&long)?;
    check("long value", make_ckey!(ctx, var, "long").get()? == long);
    check("data", root.data()? == DataReturn::ValueTreeData && make_ckey!(ctx, var, "2").data()? == DataReturn::NoData);
    check("data of a value", key.data()? == DataReturn::ValueData && make_ckey!(ctx, var, "1").data()? == DataReturn::TreeData);
    let n = make_ckey!(ctx, var, "n");
    check("increment", n.increment(None)? == b"1" && n.increment(Some(b"1.5"))? == b"2.5");
    n.set("7")?;
    check("get_and_parse", n.get_and_parse::<u32>().unwrap() == 7);
    let mut at = make_ckey!(ctx, var, "");
    check("next_sub", at.next_sub()? == b"1" && at.prev_sub()? == b"n");
    at.next_sub_self()?;
    at.next_sub_self()?;
    check("next_sub_self", at[0] == b"long");
    at.prev_sub_self()?;
    check("prev_sub_self", at[0] == b"1");
    let mut walk = ctx.new_key(Key::variable(var));
    walk.next_node_self()?;
    check("next_node_self", walk.len() == 2 && walk[1] == b"x");
    check("next_node", walk.next_node()?[0] == b"long");
    check("prev_node", walk.prev_node()?.is_empty());
    walk.prev_node_self()?;
    check("prev_node_self", walk.is_empty());
    let mut all = make_ckey!(ctx, var, "");
    let subs: Vec<Vec<u8>> = all.iter_subs().map(|s| s.unwrap()).collect();
    check("iter_subs", subs == vec![b"1".to_vec(), b"long".to_vec(), b"n".to_vec()]);
    let mut all = make_ckey!(ctx, var, "zz");
    check("iter_subs_reverse", all.iter_subs_reverse().map(|s| s.unwrap()).count() == 3);
    let mut all = make_ckey!(ctx, var, "");
    check("iter_values", all.iter_values().filter_map(|v| v.ok()).count() == 2);
    let mut all = make_ckey!(ctx, var, "");
    check("iter_subs_values", all.iter_subs_values().filter_map(|v| v.ok()).last().unwrap() == (b"n".to_vec(), b"7".to_vec()));
    let mut all = make_ckey!(ctx, var, "");
    check("iter_key_subs", all.iter_key_subs().map(|v| v.unwrap()).count() == 3);
    let mut all = ctx.new_key(Key::variable(var));
    check("iter_nodes", all.iter_nodes().map(|v| v.unwrap()).count() == 3);
    let mut all = ctx.new_key(Key::variable(var));
    check("iter_key_nodes", all.iter_key_nodes().map(|v| v.unwrap()).last().unwrap()[0] == b"n");
    let backwards = || make_ckey!(ctx, var, "zz");
    check("iter_values_reverse", backwards().iter_values_reverse().filter_map(|v| v.ok()).count() == 2);
    check("iter_subs_values_reverse", backwards().iter_subs_values_reverse().filter_map(|v| v.ok()).count() == 2);
    check("iter_key_subs_reverse", backwards().iter_key_subs_reverse().map(|v| v.unwrap()).count() == 3);
    check("iter_nodes_reverse", backwards().iter_nodes_reverse().map(|v| v.unwrap()).count() == 4);
    check("iter_key_nodes_reverse", backwards().iter_key_nodes_reverse().map(|v| v.unwrap()).count() == 4);
    let deep: Vec<&str> = vec!["k"; 31];
    let deep = ctx.new_key(Key::new(var, &deep));
    deep.set("deep")?;
    check("31 subscripts", deep.get()? == b"deep");
    root.delete(DeleteType::DelNode)?;
    check("delete of a value", root.data()? == DataReturn::TreeData);
    root.delete(DeleteType::DelTree)?;
    check("delete of a tree", root.data()? == DataReturn::NoData);
    is_error("the end", at.next_sub(), craw::YDB_ERR_NODEEND);
    Ok(())
}

fn others(ctx: &Context) -> YDBResult<()> {
    check("release", ctx.release()?.contains("YottaDB"));
    check("special variable", make_ckey!(ctx, "$tlevel").get()? == b"0");
    make_ckey!(ctx, "keep").set("1")?;
    make_ckey!(ctx, "lose").set("1")?;
    ctx.delete_excl(&["keep"])?;
    check("delete_excl", make_ckey!(ctx, "keep").get()? == b"1" && make_ckey!(ctx, "lose").get().is_err());
    is_error("delete_excl of a global", ctx.delete_excl(&["^global"]), craw::YDB_ERR_GVNUNSUPPORTED);
    is_error("delete_excl of a special variable", ctx.delete_excl(&["$ZSTATUS"]), craw::YDB_ERR_ISVUNSUPPORTED);
    is_error("too many names", ctx.delete_excl(&vec!["a"; 36]), craw::YDB_ERR_NAMECOUNT2HI);
    check("str2zwr", ctx.str2zwr(b"a\nb")? == b"\"a\"_$C(10)_\"b\"");
    check("zwr2str", ctx.zwr2str(b"\"a\"_$C(10)_\"b\"")? == b"a\nb");
    check("message", String::from_utf8_lossy(&ctx.message(YDB_ERR_GVUNDEF)?).contains("%YDB-E-GVUNDEF"));
    ctx.eintr_handler()?;
    is_error("bad name", make_ckey!(ctx, "^1").set(""), craw::YDB_ERR_INVVARNAME);
    is_error("long name", make_ckey!(ctx, "^a23456789012345678901234567890123").set(""), craw::YDB_ERR_VARNAME2LONG);
    is_error("unknown special variable", make_ckey!(ctx, "$NOSUCH").get(), craw::YDB_ERR_INVSVN);
    is_error("overflow", make_ckey!(ctx, "^o").increment(Some(b"1E48")), craw::YDB_ERR_NUMOFLOW);
    is_error("32 subscripts", ctx.new_key(Key::new("^a", &vec!["1"; 32])).get(), craw::YDB_ERR_MAXNRSUBSCRIPTS);
    Ok(())
}

fn calls_of_m(ctx: &Context) -> YDBResult<()> {
    let table = CString::new("table.ci").unwrap();
    is_error("ci_tab_open", ctx.ci_tab_open(&table), craw::YDB_ERR_CITABOPN);
    ctx.ci_tab_switch(CallInTableDescriptor::default())?;
    let routine = CStr::from_bytes_with_nul(b"routine\0").unwrap();
    is_error("ci_t", unsafe { ci_t!(ctx.tptoken(), Vec::new(), routine) }, craw::YDB_ERR_CINOENTRY);
    let mut descriptor = CallInDescriptor::new(CString::new("routine").unwrap());
    let a: craw::ydb_long_t = 1;
    is_error("cip_t", unsafe { cip_t!(ctx.tptoken(), Vec::new(), &mut descriptor, a) }, craw::YDB_ERR_CINOENTRY);
    Ok(())
}

fn locks(ctx: &Context) -> YDBResult<()> {
    let key = make_ckey!(ctx, "^lock", "1");
    key.lock_incr(Duration::from_millis(10))?;
    key.lock_decr()?;
    let keys: Vec<Key> = (0..10).map(|i| Key::new("^many", &[i.to_string()])).collect();
    ctx.lock(Duration::from_millis(10), &keys)?;
    ctx.lock(Duration::from_millis(0), &[])?;
    is_error("time", key.lock_incr(Duration::from_secs(1 << 40)), craw::YDB_ERR_TIME2LONG);
    let eleven: Vec<Key> = (0..11).map(|i| Key::new("^many", &[i.to_string()])).collect();
    is_error("too many", ctx.lock(Duration::from_millis(0), &eleven), craw::YDB_ERR_MAXARGCNT);
    check("locks", true);
    Ok(())
}

fn transactions(ctx: &Context) -> YDBResult<()> {
    let key = make_ckey!(ctx, "^tp");
    key.set("before")?;
    let done = ctx.tp(|ctx| {
        make_ckey!(ctx, "^tp").set("inside")?;
        ctx.tp(|ctx| {
            check("nested", make_ckey!(ctx, "$TLEVEL").get()? == b"2");
            Ok(TransactionStatus::Ok)
        }, "", &[])?;
        Ok(TransactionStatus::Ok)
    }, "BATCH", &[]);
    check("commit", done.is_ok() && key.get()? == b"inside");
    let undone = ctx.tp(|ctx| {
        make_ckey!(ctx, "^tp").set("lost")?;
        Ok(TransactionStatus::Rollback)
    }, "", &[]);
    check("rollback", undone.is_err() && key.get()? == b"inside");
    let failed = ctx.tp(|ctx| {
        make_ckey!(ctx, "^tp").set("lost")?;
        make_ckey!(ctx, "^nothing").get()?;
        Ok(TransactionStatus::Ok)
    }, "", &[]);
    let status = failed.unwrap_err().downcast::<YDBError>().unwrap().status;
    check("error inside", status == YDB_ERR_GVUNDEF && key.get()? == b"inside");
    make_ckey!(ctx, "local").set("as it was")?;
    let mut seen = Vec::new();
    let again = ctx.tp(|ctx| {
        let local = make_ckey!(ctx, "local");
        if make_ckey!(ctx, "$TRESTART").get()? == b"0" {
            local.set("changed")?;
            return Ok(TransactionStatus::Restart);
        }
        seen = local.get()?;
        Ok(TransactionStatus::Ok)
    }, "", &["local"]);
    check("restart", again.is_ok() && seen == b"as it was");
    Ok(())
}

fn threads(ctx: &Context) -> YDBResult<()> {
    make_ckey!(ctx, "^sum").set("0")?;
    let all: Vec<_> = (0..4).map(|_| std::thread::spawn(|| {
        let ctx = Context::new();
        for _ in 0..300 {
            make_ckey!(ctx, "^threads").increment(None).unwrap();
            ctx.tp(|ctx| {
                let sum = make_ckey!(ctx, "^sum");
                let n: u64 = String::from_utf8(sum.get()?).unwrap().parse().unwrap();
                sum.set((n + 1).to_string())?;
                Ok(TransactionStatus::Ok)
            }, "BATCH", &[]).unwrap();
        }
    })).collect();
    for t in all {
        t.join().unwrap();
    }
    check("threads", make_ckey!(ctx, "^threads").get()? == b"1200" && make_ckey!(ctx, "^sum").get()? == b"1200");
    Ok(())
}

fn main() {
    let ctx = Context::new();
    let parts = [
        nodes(&ctx, "^rust"), nodes(&ctx, "rust"), others(&ctx), calls_of_m(&ctx), locks(&ctx), transactions(&ctx),
        threads(&ctx),
    ];
    for (i, part) in parts.iter().enumerate() {
        check(&format!("part {}: {:?}", i, part), part.is_ok());
    }
    check("exit", yottadb::ydb_exit() == 0);
    is_error("after exit", make_ckey!(ctx, "^rust").get(), craw::YDB_ERR_CALLINAFTERXIT);
    let failed = FAILED.load(Ordering::SeqCst);
    println!("{} passed, {} failed", PASSED.load(Ordering::SeqCst), failed);
    std::process::exit((failed != 0) as i32);
}
